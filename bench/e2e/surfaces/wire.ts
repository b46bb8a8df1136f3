/** What the load tests know of a surface, too: plain JavaScript that k6 runs without this build. */
import type { Surface } from './surface.ts'

interface Row {
  readonly path: string
  readonly contentType: string
  keyHeader(key: string, encodeBase64: (text: string) => string): readonly [string, string]
  readonly isAnswerBinary?: boolean
}

interface Table {
  readonly SURFACES: Readonly<Record<string, Row>>
  tryReadAccepted(surface: string, answer: string | Uint8Array, sent: number): number
}

const TABLE = new URL('../../../../load-tests/support/surfaces.mjs', import.meta.url)
const { SURFACES, tryReadAccepted } = (await import(TABLE.href)) as Table

type Wire = Pick<Surface, 'path' | 'contentType' | 'authorization' | 'countAccepted'>

export function wireOf(name: string): Wire {
  const { path, contentType, keyHeader, isAnswerBinary } = SURFACES[name]!
  return {
    path,
    contentType,
    authorization: (key) => keyHeader(key, btoa).join(': '),
    // An answer that does not say how many acknowledges none.
    countAccepted: (answer, sent) => {
      const read = isAnswerBinary ? Buffer.from(answer, 'latin1') : answer
      return Math.max(0, tryReadAccepted(name, read, sent))
    },
  }
}
