create or replace function replay._is_fault_of_batch(p_error_code text)
  returns boolean
  language sql
  immutable
  return p_error_code ~ '^(08|40|53|55|57|58|XX)|^25006$';

comment on function replay._is_fault_of_batch is
'Whether an error says nothing about the transaction that met it: a lost connection, concurrency,
resources, locks, operators, the system, a bug of the server, a read-only server. The driver has the
same rule for handlers in Python.';

revoke all on function replay._is_fault_of_batch from public;
grant execute on function replay._is_fault_of_batch to replay_processor;
