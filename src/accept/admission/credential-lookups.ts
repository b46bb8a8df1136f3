/**
 * Credential look-ups on their way to the control store. Look-ups that arrive while a query runs
 * share the next query, so a thousand credentials at once cost two queries, not a thousand. No
 * look-up waits longer than CREDENTIAL_LOOKUP_MS_MAX.
 */
import { IngestError } from '../../errors.ts'
import {
  CREDENTIAL_LOOKUP_BATCH_MAX,
  CREDENTIAL_LOOKUP_MS_MAX,
  CREDENTIAL_LOOKUPS_MAX,
} from '../../limits.ts'
import type { CredentialKind, StoredCredential } from '../../model/credential.ts'

/** Revoked credentials and keys of deleted streams are absent. May reject. */
export type FindCredentials = (
  kind: CredentialKind,
  prefixes: readonly string[],
) => Promise<ReadonlyMap<string, StoredCredential>>

interface Waiting {
  readonly prefix: string
  readonly timer: NodeJS.Timeout
  readonly resolve: (stored: StoredCredential | undefined) => void
  readonly reject: (error: IngestError) => void
}

/** Concurrent queries of one kind: two, so that one that hangs does not hold up all look-ups. */
const QUERIES_MAX = 2

/** Look-ups of one kind of credential. */
export class CredentialLookups {
  readonly #kind: CredentialKind
  readonly #find: FindCredentials
  readonly #waitMsMax: number
  /** In order of arrival. */
  readonly #queue = new Set<Waiting>()
  #queries = 0
  #isScheduled = false

  constructor(
    kind: CredentialKind,
    find: FindCredentials,
    waitMsMax: number = CREDENTIAL_LOOKUP_MS_MAX,
  ) {
    this.#kind = kind
    this.#find = find
    this.#waitMsMax = waitMsMax
  }

  /** The live credential of this prefix. Rejects with `overloaded` or `unavailable`. */
  ask(prefix: string): Promise<StoredCredential | undefined> {
    if (this.#queue.size >= CREDENTIAL_LOOKUPS_MAX) {
      const text = `over ${CREDENTIAL_LOOKUPS_MAX} credential look-ups wait`
      return Promise.reject(new IngestError('overloaded', `${text} (CREDENTIAL_LOOKUPS_MAX)`))
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        if (this.#queue.delete(waiting)) reject(new IngestError('overloaded', TOO_LATE))
      }, this.#waitMsMax)
      const waiting = { prefix, timer: timer.unref(), resolve, reject }
      this.#queue.add(waiting)
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isScheduled || this.#queries >= QUERIES_MAX || this.#queue.size === 0) return
    this.#isScheduled = true
    // After this turn's network events: look-ups that arrive in the same turn share the query.
    setImmediate(() => {
      this.#isScheduled = false
      void this.#query()
    })
  }

  /** Looks up what has waited longest. Never rejects. */
  async #query(): Promise<void> {
    const asked: Waiting[] = []
    for (const waiting of this.#queue) {
      if (asked.length === CREDENTIAL_LOOKUP_BATCH_MAX) break
      clearTimeout(waiting.timer)
      this.#queue.delete(waiting)
      asked.push(waiting)
    }
    if (asked.length === 0) return
    this.#queries++
    this.#schedule()
    try {
      const found = await this.#find(
        this.#kind,
        asked.map(({ prefix }) => prefix),
      )
      for (const { prefix, resolve } of asked) resolve(found.get(prefix))
    } catch (cause) {
      const error = new IngestError('unavailable', 'credentials cannot be looked up now', { cause })
      for (const { reject } of asked) reject(error)
    } finally {
      this.#queries--
      this.#schedule()
    }
  }
}

const TOO_LATE =
  'the credential could not be looked up in time: too many wait (CREDENTIAL_LOOKUP_MS_MAX)'
