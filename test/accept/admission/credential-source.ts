/** A control store in memory for tests of authentication: it counts, and can be held or away. */
import assert from 'node:assert/strict'
import {
  CredentialCache,
  type CredentialCacheOptions,
  type CredentialSource,
} from '../../../src/accept/admission/authenticate.ts'
import { IngestError } from '../../../src/errors.ts'
import {
  type ControlChange,
  type CredentialKind,
  type CredentialUse,
  createCredential,
  type StoredCredential,
} from '../../../src/model/credential.ts'
import { SCHEMA_CAPS_DEFAULT } from '../../../src/model/schema.ts'
import type { Scope, Stream, StreamId } from '../../../src/model/stream.ts'

export const STREAM: Stream = {
  streamId: 7 as StreamId,
  name: 'web',
  owner: 'ann',
  retentionMs: 86_400_000,
  maxStoredBytes: null,
  rateBudget: null,
  byteBudget: null,
  schemaCaps: SCHEMA_CAPS_DEFAULT,
  createdAtMs: 0,
  isPromoted: true,
  parseUserAgents: false,
  redactSensitive: false,
  redactFields: [],
  textFields: [],
  otlpContext: 'drop',
}

export class FakeSource implements CredentialSource {
  readonly stored = new Map<string, StoredCredential>()
  readonly uses: CredentialUse[] = []
  /** How many queries were made, for how many credentials. */
  finds = 0
  asked = 0
  version = 1
  /** What each version was about; a version of unknown subject is missing. */
  readonly changes = new Map<number, ControlChange>()
  away = false
  held: Promise<void> | undefined

  issue(kind: 'key' | 'token', expiresAtMs: number | null = null, stream = STREAM): string {
    const created = createCredential(kind)
    const { secretSha256 } = created
    const id = this.stored.size + 1
    const scopes = new Set<Scope>(['streams:read'])
    const principal = { tokenId: id, owner: 'ann', scopes, streamIds: undefined }
    const credential: StoredCredential =
      kind === 'key'
        ? { kind, id, secretSha256, stream }
        : { kind, id, secretSha256, principal, expiresAtMs }
    this.stored.set(kind + created.prefix, credential)
    return created.text
  }

  /** A session of this token, last used at `usedAtMs`. */
  begin(token: string, expiresAtMs: number, usedAtMs = 0, origin = ''): string {
    const { text, prefix, secretSha256 } = createCredential('session')
    const id = this.stored.size + 1
    const kind = 'session'
    const tokenPrefix = token.slice(4, 12)
    const session = { kind, id, secretSha256, tokenPrefix, origin, expiresAtMs, usedAtMs } as const
    this.stored.set(kind + prefix, session)
    return text
  }

  revoke(text: string): void {
    const kind = { lax: 'key', lap: 'token', las: 'session' }[text.slice(0, 3)] ?? ''
    this.stored.delete(kind + text.slice(4, 12))
    this.change({ kind: 'credential', prefix: text.slice(4, 12) })
  }

  change(change?: ControlChange): void {
    this.version++
    if (change !== undefined) this.changes.set(this.version, change)
  }

  readonly findCredentials = async (kind: CredentialKind, prefixes: readonly string[]) => {
    this.finds++
    this.asked += prefixes.length
    const found = new Map<string, StoredCredential>()
    for (const prefix of prefixes) {
      const stored = this.stored.get(kind + prefix)
      if (stored !== undefined) found.set(prefix, stored)
    }
    await this.held
    if (this.away) throw new Error('connection refused')
    return found
  }

  readonly readChanges = async (after: string, upTo: string) => {
    const changes: ControlChange[] = []
    for (let version = Number(after) + 1; version <= Number(upTo); version++) {
      const change = this.changes.get(version)
      if (change !== undefined) changes.push(change)
    }
    return changes
  }

  readonly readVersion = async () => {
    if (this.away) throw new Error('connection refused')
    return String(this.version)
  }

  readonly recordUses = async (uses: readonly CredentialUse[]) => {
    this.uses.push(...uses)
  }
}

export function setUp(options: Partial<CredentialCacheOptions> = {}) {
  const source = new FakeSource()
  return { source, cache: new CredentialCache({ source, onError: () => undefined, ...options }) }
}

/** The code and message that `promise` rejects with. */
export async function failure(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (cause: unknown) => cause,
  )
  assert.ok(error instanceof IngestError, 'it must fail')
  return `${error.code}: ${error.message}`
}
