"""An event replay engine that lives in PostgreSQL: driver, processors, installer."""
