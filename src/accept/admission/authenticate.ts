/**
 * Authenticate: turns a presented credential into the stream it may write to, or into a principal.
 *
 *   credential text --> cache (by public prefix) --> look-ups (many at once) --> control store
 *
 * Guarantees: secrets are never kept, only their SHA-256, compared in constant time. Missing,
 * malformed, unknown and revoked credentials get the same answer after the same hashing. A
 * revocation takes effect on every node within CONTROL_POLL_MS plus two queries: every change of
 * the control plane raises a version, which nodes poll; they forget what the change was about.
 * While PostgreSQL is away, cached credentials stay in use.
 *
 * The subtle idea: a look-up that began before this node heard of a change may return an answer
 * from before the change. That answer serves the requests that wait for it, but is not cached.
 * Before a request is committed, its key is checked again (`isCurrent`) with what this node knows
 * by then.
 */
import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { IngestError } from '../../errors.ts'
import {
  CONTROL_CHANGES_MAX,
  CONTROL_POLL_MS,
  CONTROL_STALE_MS_MAX,
  CREDENTIAL_CACHE_MAX,
  SESSION_IDLE_MS_MAX,
} from '../../limits.ts'
import {
  type ControlChange,
  CREDENTIAL_KINDS,
  type Credential,
  type CredentialKind,
  type CredentialUse,
  type StoredCredential,
  sha256,
  tryParseCredential,
  tryParseSession,
} from '../../model/credential.ts'
import type { Principal, Stream, StreamId } from '../../model/stream.ts'
import { CredentialLookups, type FindCredentials } from './credential-lookups.ts'

/** What authentication needs of the control store. Each may reject when the store is away. */
export interface CredentialSource {
  readonly findCredentials: FindCredentials
  /** A number that every change of the control plane raises by one. */
  readonly readVersion: () => Promise<string>
  /** The changes after one version up to another; those of unknown subject are missing. */
  readonly readChanges: (after: string, upTo: string) => Promise<readonly ControlChange[]>
  readonly recordUses: (uses: readonly CredentialUse[]) => Promise<void>
}

export interface ResolvedKey {
  readonly keyId: number
  readonly stream: Stream
  readonly prefix: string
  /** How many changes this node had heard of before it was looked up. */
  readonly changesBefore: number
}

export interface CredentialCacheOptions {
  readonly source: CredentialSource
  readonly nowMs?: () => number
  /** Called when the store is away, once until a poll works. Must not throw. */
  readonly onError: (cause: unknown) => void
  readonly pollMs?: number
  readonly entriesMax?: number
}

/** A look-up in progress. */
interface Lookup {
  readonly entry: Promise<Entry | undefined>
  /** Streams that changed meanwhile. */
  changed: Set<StreamId> | undefined
}

interface Entry {
  readonly stored: StoredCredential
  readonly resolved: ResolvedKey | undefined
  /** When its use was last noted for `last_used_at`. */
  usedAtMs: number
}

/** A credential's use is written at most this often. */
const USES_FLUSH_MS = 60_000
const NO_HASH = new Uint8Array(32)

export class CredentialCache {
  readonly #source: CredentialSource
  readonly #nowMs: () => number
  readonly #onError: (cause: unknown) => void
  readonly #pollMs: number
  readonly #entriesMax: number
  readonly #found: LRUCache<string, Entry>
  /** Apart from `#found`, so that made-up prefixes cannot push out the ones in use. */
  readonly #missing: LRUCache<string, true>
  /** The keys in `#found` of each stream's credentials. */
  readonly #byStream = new Map<StreamId, Set<string>>()
  readonly #lookups = new Map<string, Lookup>()
  readonly #keyLookups: CredentialLookups
  readonly #tokenLookups: CredentialLookups
  readonly #sessionLookups: CredentialLookups
  #uses = new Map<string, CredentialUse>()
  #version: string | undefined
  /** Changes that this node has heard of. */
  #changes = 0
  /** When the last poll that succeeded began, on the monotonic clock. */
  #knownAtMs: number | undefined
  #refreshing: Promise<void> | undefined
  #pollTimer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined
  /** Since a poll worked. */
  #failures = 0
  #flushTimer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(options: CredentialCacheOptions) {
    this.#source = options.source
    this.#nowMs = options.nowMs ?? Date.now
    this.#onError = options.onError
    this.#pollMs = options.pollMs ?? CONTROL_POLL_MS
    this.#entriesMax = options.entriesMax ?? CREDENTIAL_CACHE_MAX
    this.#keyLookups = new CredentialLookups('key', this.#source.findCredentials)
    this.#tokenLookups = new CredentialLookups('token', this.#source.findCredentials)
    this.#sessionLookups = new CredentialLookups('session', this.#source.findCredentials)
    const dispose = (entry: Entry, cacheKey: string) => this.#forgetOfStream(entry, cacheKey)
    this.#found = new LRUCache({ max: this.#entriesMax, dispose })
    this.#missing = new LRUCache({ max: this.#entriesMax })
  }

  /** Starts to poll and to write uses back. Without it nothing is ever invalidated. */
  start(): void {
    this.#schedulePoll()
    this.#flushTimer = setInterval(() => void this.flushUses(), USES_FLUSH_MS)
    this.#flushTimer.unref()
  }

  /**
   * The stream of an API key, without waiting: `undefined` when the credential is not valid,
   * `'lookup'` when only `resolveKey` can tell. Ingest calls it for every request. It takes about
   * 1 µs, most of it SHA-256.
   */
  tryResolveKey(text: string): ResolvedKey | undefined | 'lookup' {
    const credential = tryParseCredential(text)
    if (credential === undefined) return reject(text)
    if (credential.kind !== 'key') return 'lookup'
    const cacheKey = cacheKeyOf(credential)
    const entry = this.#found.get(cacheKey)
    if (entry !== undefined) return this.#admit(entry, credential)?.resolved
    return this.#missing.get(cacheKey) === true ? reject(credential.secret) : 'lookup'
  }

  /**
   * The stream of an API key. Throws `IngestError`: `unauthenticated`, `forbidden` for a valid
   * access token, `unavailable` when it is not cached and the store is away.
   */
  async resolveKey(text: string): Promise<ResolvedKey> {
    const entry = await this.#resolve(text)
    if (entry.resolved !== undefined) return entry.resolved
    throw new IngestError('forbidden', 'an access token cannot ingest; use an API key of a stream')
  }

  /** The principal of an access token. Throws as `resolveKey` does, `forbidden` for an API key. */
  async resolveToken(text: string): Promise<Principal> {
    const { stored } = await this.#resolve(text)
    if (stored.kind === 'token') return stored.principal
    throw new IngestError('forbidden', 'an API key can only ingest; use an access token')
  }

  /**
   * The principal of the token that a browser's session was begun with. Throws as `resolveToken`
   * does. A session is of one page: a request that names another `origin` cannot show it.
   */
  async resolveSession(text: string, origin: string): Promise<Principal> {
    const credential = tryParseSession(text)
    if (credential === undefined) {
      reject(text)
      throw unauthenticated()
    }
    const known = this.#found.get(cacheKeyOf(credential))
    // It may have been used on another node since.
    if (known !== undefined && isIdle(known, this.#nowMs())) this.#forgetEntry(credential)
    const session = this.#admit(await this.#entryOf(credential), credential)
    if (session?.stored.kind !== 'session') throw unauthenticated()
    const { id: sessionId, tokenPrefix, origin: own } = session.stored
    if (origin !== '' && origin !== own) throw unauthenticated()
    const token = { kind: 'token', prefix: tokenPrefix } as const
    const entry = this.#use(await this.#entryOf(token), token)
    if (entry?.stored.kind !== 'token') throw unauthenticated()
    return { ...entry.stored.principal, sessionId }
  }

  /**
   * Whether this node knows, without a query, that the key is still valid. Ingest calls it for
   * every request before its commit, which may be long after the request was admitted.
   */
  isCurrent(key: ResolvedKey): boolean {
    if (this.#isStale) return false
    return key.changesBefore === this.#changes || this.#found.peek(key.prefix)?.resolved === key
  }

  /**
   * Resolves when the key is still valid. Throws `IngestError`: `unauthenticated` when it was
   * revoked, `unavailable` while that cannot be determined.
   */
  async confirm(key: ResolvedKey): Promise<void> {
    if (this.#isStale) await this.#refresh()
    const credential = { kind: 'key', prefix: key.prefix } as const
    const entry = this.#found.peek(key.prefix) ?? (await this.#lookUp(credential))
    if (entry?.resolved?.keyId === key.keyId) return
    const text = 'the credential was revoked, or its stream deleted, while the request came'
    throw new IngestError('unauthenticated', `${text}; nothing of it is stored`)
  }

  /** No recent poll has succeeded. */
  get #isStale(): boolean {
    if (this.#knownAtMs === undefined) return false // Nothing polls.
    return performance.now() - this.#knownAtMs > CONTROL_STALE_MS_MAX
  }

  async #refresh(): Promise<void> {
    this.#refreshing ??= this.#poll().finally(() => {
      this.#refreshing = undefined
    })
    await this.#refreshing
    if (this.#isStale) {
      throw new IngestError('unavailable', 'credentials cannot be looked up now')
    }
  }

  /** Forgets everything cached. */
  invalidate(): void {
    this.#changes++
    this.#found.clear()
    this.#missing.clear()
    this.#lookups.clear()
  }

  /**
   * Forgets what a change was about, or everything if that is not known. Changes made on this node
   * call it too, so that they need not wait for the poll.
   */
  forget(change: ControlChange | undefined): void {
    if (change === undefined) return this.invalidate()
    if (change.kind === 'none') return
    this.#changes++
    if (change.kind === 'stream') return this.#forgetStream(change.streamId)
    for (const kind of CREDENTIAL_KINDS) this.#forgetEntry({ kind, prefix: change.prefix })
  }

  #forgetEntry(credential: Pick<Credential, 'kind' | 'prefix'>): void {
    const cacheKey = cacheKeyOf(credential)
    this.#found.delete(cacheKey)
    this.#missing.delete(cacheKey)
    this.#lookups.delete(cacheKey)
  }

  #forgetStream(streamId: StreamId): void {
    for (const cacheKey of this.#byStream.get(streamId) ?? []) this.#found.delete(cacheKey)
    for (const lookup of this.#lookups.values()) {
      lookup.changed ??= new Set()
      lookup.changed.add(streamId)
    }
  }

  #forgetOfStream({ resolved }: Entry, cacheKey: string): void {
    if (resolved === undefined) return
    const { streamId } = resolved.stream
    const cached = this.#byStream.get(streamId)
    cached?.delete(cacheKey)
    if (cached?.size === 0) this.#byStream.delete(streamId)
  }

  /** Writes the uses noted since the last call. Never rejects: a lost one is noted again later. */
  async flushUses(): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = [...this.#uses.values()]
    this.#uses = new Map()
    try {
      await this.#source.recordUses(uses)
    } catch (cause) {
      if (this.#failures++ === 0) this.#onError(cause)
    }
  }

  /** Stops polling and writes the last uses. Safe to call twice. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#pollTimer)
    clearInterval(this.#flushTimer)
    await this.#polling
    await this.flushUses()
  }

  async #resolve(text: string): Promise<Entry> {
    const credential = tryParseCredential(text)
    if (credential === undefined) {
      reject(text)
      throw unauthenticated()
    }
    const admitted = this.#admit(await this.#entryOf(credential), credential)
    if (admitted === undefined) throw unauthenticated()
    return admitted
  }

  async #entryOf(credential: Pick<Credential, 'kind' | 'prefix'>): Promise<Entry | undefined> {
    return this.#found.get(cacheKeyOf(credential)) ?? (await this.#lookUp(credential))
  }

  /** The entry, if the secret is right and it has not expired. Same work for a missing entry. */
  #admit(entry: Entry | undefined, credential: Credential): Entry | undefined {
    const isEqual = timingSafeEqual(
      sha256(credential.secret),
      entry?.stored.secretSha256 ?? NO_HASH,
    )
    return isEqual ? this.#use(entry, credential) : undefined
  }

  /** The entry, unless it is over. Its use is noted now and then. */
  #use(
    entry: Entry | undefined,
    credential: Pick<Credential, 'kind' | 'prefix'>,
  ): Entry | undefined {
    if (entry === undefined) return undefined
    const now = this.#nowMs()
    const { stored } = entry
    const expiresAtMs = stored.kind === 'key' ? null : stored.expiresAtMs
    if ((expiresAtMs !== null && expiresAtMs <= now) || isIdle(entry, now)) return undefined
    if (now - entry.usedAtMs >= USES_FLUSH_MS) {
      entry.usedAtMs = now
      const useKey = cacheKeyOf(credential)
      if (this.#uses.size < this.#entriesMax) {
        this.#uses.set(useKey, { kind: stored.kind, id: stored.id, atMs: now })
      }
    }
    return entry
  }

  #lookUp(credential: Pick<Credential, 'kind' | 'prefix'>): Promise<Entry | undefined> {
    const cacheKey = cacheKeyOf(credential)
    if (this.#missing.get(cacheKey) === true) return Promise.resolve(undefined)
    const underWay = this.#lookups.get(cacheKey)
    if (underWay !== undefined) return underWay.entry
    const { kind, prefix } = credential
    const changesBefore = this.#changes
    const asked = this.#lookupsOf(kind).ask(prefix)
    const settle = (stored?: StoredCredential) => {
      // After a change a newer look-up may have replaced this one.
      const isCurrent = this.#lookups.get(cacheKey) === lookup
      if (isCurrent) this.#lookups.delete(cacheKey)
      return isCurrent && !this.#hasChanged(lookup, stored)
    }
    const entry = asked.then(
      (stored) => {
        const found = stored && toEntry(stored, prefix, changesBefore)
        if (settle(stored)) this.#keep(cacheKey, found)
        return found
      },
      (error: unknown) => {
        settle()
        throw error
      },
    )
    const lookup: Lookup = { entry, changed: undefined }
    this.#lookups.set(cacheKey, lookup)
    return entry
  }

  #lookupsOf(kind: CredentialKind): CredentialLookups {
    if (kind === 'key') return this.#keyLookups
    return kind === 'token' ? this.#tokenLookups : this.#sessionLookups
  }

  #hasChanged({ changed }: Lookup, stored: StoredCredential | undefined): boolean {
    return stored?.kind === 'key' && changed?.has(stored.stream.streamId) === true
  }

  #keep(cacheKey: string, entry: Entry | undefined): void {
    if (entry === undefined) {
      this.#missing.set(cacheKey, true)
      return
    }
    this.#found.set(cacheKey, entry)
    if (entry.resolved === undefined) return
    const { streamId } = entry.resolved.stream
    const cached = this.#byStream.get(streamId)
    if (cached === undefined) this.#byStream.set(streamId, new Set([cacheKey]))
    else cached.add(cacheKey)
  }

  async #apply(after: string, upTo: string): Promise<void> {
    const count = Number(BigInt(upTo) - BigInt(after))
    const isFar = count <= 0 || count > CONTROL_CHANGES_MAX
    const changes = isFar ? [] : await this.#source.readChanges(after, upTo)
    // A change that does not say what it was about may have been about anything.
    if (changes.length !== count) return this.invalidate()
    for (const change of changes) this.forget(change)
  }

  #schedulePoll(): void {
    this.#pollTimer = setTimeout(() => {
      this.#polling = this.#poll().finally(() => {
        if (!this.#stopped) this.#schedulePoll()
      })
    }, this.#pollMs)
    this.#pollTimer.unref()
  }

  async #poll(): Promise<void> {
    const startedAt = performance.now()
    try {
      const version = await this.#source.readVersion()
      // The first one counts as a change: entries may be older than it.
      if (this.#version === undefined) this.invalidate()
      else if (version !== this.#version) await this.#apply(this.#version, version)
      this.#version = version
      this.#knownAtMs = startedAt
      this.#failures = 0
    } catch (cause) {
      if (this.#failures++ === 0) this.#onError(cause)
    }
  }
}

function toEntry(stored: StoredCredential, prefix: string, changesBefore: number): Entry {
  if (stored.kind !== 'key') return { stored, resolved: undefined, usedAtMs: 0 }
  const { id: keyId, stream } = stored
  const resolved = { keyId, stream, prefix, changesBefore }
  return { stored, resolved, usedAtMs: 0 }
}

function cacheKeyOf(credential: Pick<Credential, 'kind' | 'prefix'>): string {
  const { kind, prefix } = credential
  return kind === 'key' ? prefix : `${kind}:${prefix}`
}

/** Whether it is a session that nobody has used for too long. */
function isIdle({ stored, usedAtMs }: Entry, nowMs: number): boolean {
  if (stored.kind !== 'session') return false
  return nowMs - Math.max(stored.usedAtMs, usedAtMs) >= SESSION_IDLE_MS_MAX
}

/** Does the work of a comparison, so that the time taken does not reveal what was wrong. */
function reject(text: string): undefined {
  timingSafeEqual(sha256(text), NO_HASH)
  return undefined
}

/** The one answer to every credential that is not valid. */
export function unauthenticated(): IngestError {
  return new IngestError('unauthenticated', 'a valid credential is required')
}
