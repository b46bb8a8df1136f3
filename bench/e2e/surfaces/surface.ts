/** An ingest surface as the load client sees it. A new one is a row of `all.ts`. */
import type { CorpusKind } from '../../corpus.ts'

export interface Surface {
  readonly name: string
  readonly path: string
  readonly contentType: string
  readonly corpus: CorpusKind
  /** Calls over gRPC, to a port of their own, instead of requests over HTTP/1.1. */
  readonly isGrpc?: boolean
  /** The header that presents the key. */
  authorization(key: string): string
  /** One request body for these lines. */
  encodeBody(lines: readonly string[]): Buffer
  /** Changes a whole request before each time it is sent, where the receiver wants that. */
  refresh?(request: Buffer): void
  /** How many of the `sent` events a 2xx reply acknowledges. */
  countAccepted(reply: string, sent: number): number
}
