/** Streams, credentials and permissions: plain types for main and workers. */
import type { SchemaCaps } from './schema.ts'
import { ownTextFields } from './text-fields.ts'

/**
 * A stream's number: primary key, prefix of every per-stream table, and its public id in decimal.
 */
export type StreamId = number & { readonly __brand: 'StreamId' }

export const OTLP_CONTEXTS = ['drop', 'keep'] as const
export type OtlpContextSetting = (typeof OTLP_CONTEXTS)[number]

/** Settings that change what workers do with events. Sent with every batch. */
export interface TransformSettings {
  readonly parseUserAgents: boolean
  readonly redactSensitive: boolean
  readonly redactFields: readonly string[]
  /** What becomes of what an OTLP record says beside a structured body; absent: `drop`. */
  readonly otlpContext?: OtlpContextSetting
  /** Paths that are searched word by word, without duplicates; absent: the default names. */
  readonly textFields?: readonly string[] | undefined
}

export interface Stream extends TransformSettings {
  readonly streamId: StreamId
  readonly name: string
  readonly owner: string
  readonly retentionMs: number
  readonly maxStoredBytes: number | null
  /** Events a second, null for none. */
  readonly rateBudget: number | null
  /** Bytes a second, null for none. */
  readonly byteBudget: number | null
  readonly schemaCaps: SchemaCaps
  readonly otlpContext: OtlpContextSetting
  readonly textFields: readonly string[]
  readonly createdAtMs: number
  /** New events go to a projection table of its own: `store/control/promotion-store.ts`. */
  readonly isPromoted: boolean
}

/** What of a stream's settings is sent with its batches. */
export function transformSettings(stream: Stream): TransformSettings {
  const { parseUserAgents, redactSensitive, redactFields, otlpContext, textFields } = stream
  const own = ownTextFields(textFields)
  return { parseUserAgents, redactSensitive, redactFields, otlpContext, textFields: own }
}

export const SCOPES = [
  'streams:read',
  'streams:write',
  'events:read',
  'events:write',
  'alerts:read',
  'alerts:write',
  'admin',
] as const
export type Scope = (typeof SCOPES)[number]

/** The caller, as identified by an access token. */
export interface Principal {
  readonly tokenId: number
  /** Of the browser's session, where a cookie showed that instead of the token. */
  readonly sessionId?: number
  readonly owner: string
  readonly scopes: ReadonlySet<Scope>
  /** Those it is limited to; undefined: all that its owner and scopes let it see. */
  readonly streamIds: ReadonlySet<StreamId> | undefined
}

/** A positive 32-bit integer in canonical decimal, or undefined. */
export function tryParseRowId(text: string | undefined): number | undefined {
  if (text === undefined || !/^[1-9][0-9]{0,9}$/.test(text)) return undefined
  const id = Number(text)
  return id <= 0x7fff_ffff ? id : undefined
}

/** `admin` has them all. */
export function hasScope(principal: Principal, scope: Scope): boolean {
  return principal.scopes.has(scope) || principal.scopes.has('admin')
}

/** Whose things the principal sees of those that have an owner; undefined: an admin sees all. */
export function seenOwner(principal: Principal): string | undefined {
  return hasScope(principal, 'admin') ? undefined : principal.owner
}
