/** An ingest surface as the load client sees it. A new one is a file and a line in `all.ts`. */
import type { CorpusKind } from '../../corpus.ts'

export interface Surface {
  readonly name: string
  readonly path: string
  readonly contentType: string
  readonly corpus: CorpusKind
  /** The header that presents the key where it is not `X-API-Key`. */
  authorization?(key: string): string
  /** One request body for these lines. */
  encodeBody(lines: readonly string[]): Buffer
  /** Changes a whole request before each time it is sent, where the receiver wants that. */
  refresh?(request: Buffer): void
  /** How many of the `sent` events a 2xx reply acknowledges. */
  countAccepted(reply: string, sent: number): number
}

/** Native replies: `{"accepted":N,…`. Reading it is part of what makes "acknowledged" honest. */
export function countNativeAccepted(reply: string): number {
  const match = /"accepted":\s*(\d+)/.exec(reply)
  return match ? Number(match[1]) : 0
}
