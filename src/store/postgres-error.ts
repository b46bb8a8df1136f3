/** What PostgreSQL's errors mean to the stages. */
import { errorFields, StoreError, UNREACHABLE_CODES } from './store-error.ts'

/** Of a server that takes no writes now: a standby, one that was demoted or set read-only. */
export const READ_ONLY = '25006'

/** Maps anything the driver threw. Passes a `StoreError` through. */
export function toStoreError(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause
  const { message, code, constraint } = errorFields(cause)
  const kind = postgresKind(code, message)
  // Class 22 messages quote the offending value: `invalid input syntax for type integer: "…"`.
  const shown = code?.startsWith('22') === true ? 'a value was refused' : message
  return new StoreError(kind, `postgresql: ${shown}${code === undefined ? '' : ` (${code})`}`, {
    code,
    constraint,
  })
}

function postgresKind(code: string | undefined, message: string): StoreError['kind'] {
  if (code === '53100' || code === 'ENOSPC') return 'disk_full'
  if (/no space left on device/i.test(message)) return 'disk_full'
  if (code === '23505') return 'conflict'
  if (code === 'SL001') return 'lease_lost'
  if (code !== undefined) {
    if (UNREACHABLE_CODES.has(code) || UNAVAILABLE_STATES.has(code)) return 'unavailable'
    return code.startsWith('08') ? 'unavailable' : 'other'
  }
  return UNAVAILABLE_MESSAGE.test(message) ? 'unavailable' : 'other'
}

const UNAVAILABLE_STATES: ReadonlySet<string> = new Set([
  READ_ONLY, // read_only_sql_transaction: it is a standby now, or an operator's doing
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now: it starts, stops, or recovers
  '57P05', // idle_session_timeout
  '57014', // query_canceled: the statement timeout
  '25P03', // idle_in_transaction_session_timeout
  '53300', // too_many_connections
  '40001', // serialization_failure; also of a standby: a conflict with recovery
  '40P01', // deadlock_detected
])

/** Errors that the driver makes itself carry no code. */
const UNAVAILABLE_MESSAGE =
  /connection terminated|timeout|not queryable|connection error|client was closed|socket/i
