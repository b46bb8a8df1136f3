/**
 * Idempotency-Key: when a request is repeated under the same key on the same stream within
 * IDEMPOTENCY_TTL_MS, it gets the first answer and nothing is stored again. A key is claimed
 * before the data is committed and completed in the data's own transaction, so an answer is
 * remembered exactly when its events are stored.
 *
 * Two different requests may come under one key by mistake of the client, or of an HTTP engine that
 * drops bytes of header values. So a fingerprint of the request is kept with the answer, and a
 * different request gets `conflict`. The kept answer would falsely say that its events are stored.
 */
import { createHash, createHmac } from 'node:crypto'
import { IngestError, malformed } from '../../errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import {
  IDEMPOTENCY_ANSWER_BYTES_MAX,
  IDEMPOTENCY_KEY_BYTES_MAX,
  IDEMPOTENCY_STREAM_BYTES_MAX,
} from '../../limits.ts'
import type { StreamId } from '../../model/stream.ts'
import type { BodyPlan, PresentedKey } from '../dialect.ts'

export type IdempotencyClaim =
  | {
      readonly kind: 'claimed'
      readonly keySha256: Uint8Array
      /** Gives the key back: the request stored nothing. Never rejects. */
      readonly release: () => Promise<void>
    }
  | {
      readonly kind: 'done'
      readonly answer: string
      readonly fingerprint: Uint8Array
    }

/** What claiming needs of the raw store; both reject with a store error. */
export interface IdempotencyStore {
  readonly claim: (
    streamId: StreamId,
    keySha256: Uint8Array,
  ) => Promise<
    | 'claimed'
    | 'busy'
    | 'full'
    | {
        readonly status: number
        readonly body: string
        readonly fingerprint: Uint8Array
      }
  >
  readonly release: (streamId: StreamId, keySha256: Uint8Array) => Promise<void>
}

/** Undefined without one. Call it before the handler's first call returns. */
export function readIdempotencyKey(exchange: Exchange): PresentedKey | undefined {
  const lines = exchange.headerLines('idempotency-key')
  return lines === 0 ? undefined : { lines, value: exchange.header('idempotency-key') }
}

/** Throws `malformed` for a key that is not valid, or that an engine may have changed. */
export function assertIdempotencyKey({ lines, value }: PresentedKey): void {
  if (lines > 1) throw malformed('the Idempotency-Key is given twice')
  if (value === '')
    throw malformed('the Idempotency-Key is empty, or has no ASCII at its beginning and end')
  if (value.length > IDEMPOTENCY_KEY_BYTES_MAX) {
    throw malformed(
      `the Idempotency-Key is over ${IDEMPOTENCY_KEY_BYTES_MAX} bytes (IDEMPOTENCY_KEY_BYTES_MAX)`,
    )
  }
  if (!/^[\x21-\x7e]+$/.test(value))
    throw malformed('the Idempotency-Key may hold visible ASCII only (0x21 to 0x7e)')
}

/**
 * Claims `key`. Rejects: `conflict` while another request holds it or when its answer has another
 * form, `rate_limited` when the stream has too much kept, `unavailable`.
 */
export async function claimIdempotencyKey(
  store: IdempotencyStore,
  streamId: StreamId,
  key: string,
  form: string,
): Promise<IdempotencyClaim> {
  const keySha256 = createHash('sha256').update(key).digest()
  let claimed: Awaited<ReturnType<IdempotencyStore['claim']>>
  try {
    claimed = await store.claim(streamId, keySha256)
  } catch (cause) {
    throw new IngestError('unavailable', 'the raw store is not available', { cause })
  }
  if (claimed === 'busy') {
    const text = 'another request with this Idempotency-Key is in progress'
    throw new IngestError('conflict', text, { retryAfterSeconds: 1 })
  }
  if (claimed === 'full') throw tooMuchKept()
  if (claimed !== 'claimed') {
    const { body, fingerprint } = claimed
    return { kind: 'done', answer: recallAnswer(body, form), fingerprint }
  }
  const release = () => store.release(streamId, keySha256).catch(() => undefined)
  return { kind: 'claimed', keySha256, release }
}

/**
 * Tells apart the requests under one key: by the decompressed body, since a retry may be compressed
 * differently, and by the format that the body is read as. The hash is keyed by the
 * Idempotency-Key, which is not stored, so a reader of the store cannot guess a short body by
 * brute force.
 */
export class RequestFingerprint {
  readonly #hmac

  constructor(key: string, { format, target: path = [] }: BodyPlan) {
    const target = [format.name, ...path]
    this.#hmac = createHmac('sha256', key).update(`${JSON.stringify(target)}\n`)
  }

  update(bytes: Uint8Array): void {
    this.#hmac.update(bytes)
  }

  /** May be called once. */
  digest(): Buffer {
    return this.#hmac.digest()
  }
}

/** Throws `conflict` when the answer kept under the key belongs to another request. */
export function assertSameRequest(kept: Uint8Array, fingerprint: Uint8Array): void {
  if (Buffer.compare(kept, fingerprint) === 0) return
  throw new IngestError(
    'conflict',
    'this Idempotency-Key was used with another request: its body, its media type or its path ' +
      'differs; nothing of this request is stored; send it under a key of its own',
  )
}

/** Throws `too_large` when an answer of about this many bytes is too large to keep. */
export function assertKeepable(answerBytes: number): void {
  if (answerBytes <= IDEMPOTENCY_ANSWER_BYTES_MAX) return
  const limit = `${IDEMPOTENCY_ANSWER_BYTES_MAX} bytes (IDEMPOTENCY_ANSWER_BYTES_MAX)`
  const cure = 'send fewer actions per request, or use filter_path'
  throw new IngestError('too_large', `the answer to keep would be over ${limit}: ${cure}`)
}

/** An answer as it is remembered: with the name of its form, on a line of its own. */
export function rememberedAnswer(form: string, answer: string): string {
  return `${form}\n${answer}`
}

/** The inverse. Throws `conflict` when the answer has another form. */
function recallAnswer(remembered: string, form: string): string {
  const end = remembered.indexOf('\n')
  if (remembered.slice(0, end) === form) return remembered.slice(end + 1)
  const text = 'this Idempotency-Key was used on another ingest path, which answers in another form'
  throw new IngestError('conflict', text)
}

/** Keys expire one by one, so a retry can succeed, but only much later. */
const FULL_RETRY_SECONDS = 600

function tooMuchKept(): IngestError {
  const limit = `${IDEMPOTENCY_STREAM_BYTES_MAX} bytes (IDEMPOTENCY_STREAM_BYTES_MAX)`
  const text = `the answers kept under Idempotency-Keys of this stream's last day are over ${limit}`
  return new IngestError('rate_limited', text, { retryAfterSeconds: FULL_RETRY_SECONDS })
}
