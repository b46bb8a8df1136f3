/**
 * The one error that leaves `store/`: what went wrong with a database, in terms a stage can act on.
 *
 * The driver's own error is deliberately not kept as `cause`: its fields (`detail`, `where`, the
 * query, a URL) hold values and secrets, and loggers print every field of a cause.
 */

export const STORE_ERROR_KINDS = [
  /** Gone or busy: whether a statement took effect is unknown. Worth trying again. */
  'unavailable',
  /** The store has no space left. Nothing was stored; try again after some was freed. */
  'disk_full',
  /** A uniqueness rule refused it. */
  'conflict',
  /** This node lost its number to another process (see `node-lease.ts`). */
  'lease_lost',
  /** ClickHouse can never store these values, whoever sends them. */
  'bad_data',
  'other',
] as const
export type StoreErrorKind = (typeof STORE_ERROR_KINDS)[number]

export interface StoreErrorDetails {
  /** SQLSTATE of PostgreSQL or errno of the connection, such as `23505` or `ECONNREFUSED`. */
  readonly code?: string | undefined
  /** ClickHouse's own error number, such as 60 for UNKNOWN_TABLE. */
  readonly clickHouseCode?: number | undefined
  /** Its name, such as UNKNOWN_TABLE. */
  readonly clickHouseName?: string | undefined
  /** The constraint that a `conflict` broke. */
  readonly constraint?: string | undefined
}

export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly kind: StoreErrorKind
  readonly code: string | undefined
  readonly clickHouseCode: number | undefined
  readonly clickHouseName: string | undefined
  readonly constraint: string | undefined

  constructor(kind: StoreErrorKind, message: string, details: StoreErrorDetails = {}) {
    super(message)
    this.kind = kind
    this.code = details.code
    this.clickHouseCode = details.clickHouseCode
    this.clickHouseName = details.clickHouseName
    this.constraint = details.constraint
  }

  /** Whether the same call may succeed later, unchanged. */
  get retryable(): boolean {
    return this.kind === 'unavailable' || this.kind === 'disk_full'
  }
}

/** What a client is told of it: which store failed and how, never a value or a statement. */
export function storeFault({ retryable, clickHouseCode, clickHouseName }: StoreError): string {
  if (retryable) return 'a store does not answer now'
  if (clickHouseCode === undefined) return 'a store answered with an error'
  return `ClickHouse answered with an error (${clickHouseName || clickHouseCode})`
}

/** What we read from an error whose class we do not know. */
export interface ErrorFields {
  readonly message: string
  readonly code: string | undefined
  readonly constraint: string | undefined
}

export function errorFields(cause: unknown): ErrorFields {
  if (!(cause instanceof Error)) {
    return { message: String(cause), code: undefined, constraint: undefined }
  }
  return {
    // An AggregateError (every address of a host refused) has an empty message.
    message: cause.message === '' ? firstMessage(cause) : cause.message,
    code: 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined,
    constraint:
      'constraint' in cause && typeof cause.constraint === 'string' ? cause.constraint : undefined,
  }
}

function firstMessage(error: Error): string {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) {
    return error.errors[0].message
  }
  return error.name
}

/** Error codes of sockets and name look-ups that mean: not reachable now. */
export const UNREACHABLE_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT', // The unix socket of a server that is not up.
  'EAGAIN', // One whose backlog of connections is full.
])
