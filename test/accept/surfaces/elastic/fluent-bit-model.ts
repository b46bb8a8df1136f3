/**
 * How versions of Fluent Bit read the answer to a chunk, modelled on its published sources
 * (plugins/out_es/es.c of 2020 to 2026, plugins/out_opensearch/opensearch.c of 2022 to 2026,
 * src/flb_http_client.c; Apache-2.0). After a bad answer it sends the whole chunk again.
 */

/** The default `Buffer_Size`: 512k, for head and body. */
export const FLUENT_BIT_BUFFER_BYTES = 512_000

type Verdict = 'delivered' | 'again'

/** The result of the items' statuses, where `errors` is true. */
type JudgeStatuses = (statuses: readonly unknown[]) => Verdict

const isStored = (status: unknown) => status === 200 || status === 201
const isDone = (status: unknown) => isStored(status) || status === 409

export const FLUENT_BIT_READERS: readonly (readonly [version: string, judge: JudgeStatuses])[] = [
  ['es, up to 1.7: any error', () => 'again'],
  [
    'es up to 2.0, opensearch up to 3: any status but 409',
    (statuses) => (statuses.every((status) => status === 409) ? 'delivered' : 'again'),
  ],
  ['es, from 2.0: no item stored', (statuses) => (statuses.some(isStored) ? 'delivered' : 'again')],
  [
    'es and opensearch of 2026: any item not stored',
    (statuses) => (statuses.length > 0 && statuses.every(isDone) ? 'delivered' : 'again'),
  ],
]

/** `answer`: head and body as received. */
export function readAsFluentBit(answer: string, judge: JudgeStatuses): Verdict {
  // Newer versions give up at this size (`http_do=-1`); older ones search in what they have.
  if (Buffer.byteLength(answer) > FLUENT_BIT_BUFFER_BYTES) return 'again'
  const status = /^HTTP\/1\.1 (\d+) /.exec(answer)?.[1]
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4)
  if ((status !== '200' && status !== '201') || body === '') return 'again'
  // In the order of the answer: it stops at the first that decides.
  for (const [key, value] of Object.entries(JSON.parse(body) as object)) {
    if (key === 'errors' && value === false) return 'delivered'
    if (key === 'items') {
      const items = (value as object[]).map((item) => Object.values(item))
      if (items.some((item) => item.length !== 1)) return 'again'
      return judge(items.map(([item]) => (item as { status?: unknown }).status))
    }
  }
  return 'again'
}
