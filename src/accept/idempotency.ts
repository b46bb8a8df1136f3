/**
 * Idempotency-Key: the same key on the same stream within IDEMPOTENCY_TTL_MS answers as the first
 * time and stores nothing again. A key is claimed before the data is committed and completed in the
 * data's own transaction, so an answer is remembered exactly when its events are stored.
 */
import { createHash } from 'node:crypto'
import { IngestError } from '../errors.ts'
import { IDEMPOTENCY_KEY_BYTES_MAX } from '../limits.ts'
import type { StreamId } from '../model/stream.ts'
import { ANSWER_FORMS, type AnswerForm } from './dialect.ts'

export type IdempotencyClaim =
  | {
      readonly kind: 'claimed'
      readonly keySha256: Uint8Array
      /** Gives the key back: the request stored nothing. Never rejects. */
      readonly release: () => Promise<void>
    }
  | { readonly kind: 'done'; readonly answer: string }

/** What claiming needs of the raw store; both reject with a store error. */
export interface IdempotencyStore {
  readonly claim: (
    streamId: StreamId,
    keySha256: Uint8Array,
  ) => Promise<'claimed' | 'busy' | { readonly status: number; readonly body: string }>
  readonly release: (streamId: StreamId, keySha256: Uint8Array) => Promise<void>
}

/**
 * Claims `key`. Rejects: `malformed` key, `conflict` while another request holds it or when its
 * answer has another form, `unavailable`.
 */
export async function claimIdempotencyKey(
  store: IdempotencyStore,
  streamId: StreamId,
  key: string,
  form: AnswerForm,
): Promise<IdempotencyClaim> {
  if (Buffer.byteLength(key) > IDEMPOTENCY_KEY_BYTES_MAX) {
    const text = `Idempotency-Key is over ${IDEMPOTENCY_KEY_BYTES_MAX} bytes`
    throw new IngestError('malformed', `${text} (IDEMPOTENCY_KEY_BYTES_MAX)`)
  }
  const keySha256 = createHash('sha256').update(key).digest()
  let claimed: Awaited<ReturnType<IdempotencyStore['claim']>>
  try {
    claimed = await store.claim(streamId, keySha256)
  } catch (cause) {
    throw new IngestError('unavailable', 'the raw store is not available', { cause })
  }
  if (claimed === 'busy') {
    const text = 'another request with this Idempotency-Key is under way'
    throw new IngestError('conflict', text, { retryAfterSeconds: 1 })
  }
  if (claimed !== 'claimed') return { kind: 'done', answer: recallAnswer(claimed.body, form) }
  const release = () => store.release(streamId, keySha256).catch(() => undefined)
  return { kind: 'claimed', keySha256, release }
}

/** An answer as it is remembered: with the name of its form, on a line of its own. */
export function rememberedAnswer(form: AnswerForm, answer: string): string {
  return `${form}\n${answer}`
}

/**
 * The inverse. Throws `conflict` when the answer has another form. What has no form was remembered
 * before there were any, at most IDEMPOTENCY_TTL_MS ago.
 */
function recallAnswer(remembered: string, form: AnswerForm): string {
  const end = remembered.indexOf('\n')
  const known = ANSWER_FORMS.find((name) => name === remembered.slice(0, end))
  if (known === undefined) return remembered
  if (known === form) return remembered.slice(end + 1)
  const text = 'this Idempotency-Key was used on another ingest path, whose answer is another'
  throw new IngestError('conflict', text)
}
