/** Which paths may say an event's level or service, as ranks that the trie's nodes have. */

import {
  LEVEL_FIELDS,
  SERVICE_FIELDS,
  SEVERITY_NUMBER_FIELD,
} from '../../src/model/event-labels.ts'
import { hashBytes } from './hash-bytes.ts'

const LABEL_FIELDS = [...LEVEL_FIELDS, SEVERITY_NUMBER_FIELD, ...SERVICE_FIELDS]
/** Ranks are from 1 on, levels before services, best first among each. */
export const SEVERITY_NUMBER_RANK = LEVEL_FIELDS.length + 1
export const SERVICE_RANK = SEVERITY_NUMBER_RANK + 1
export const LABEL_RANKS = LABEL_FIELDS.length
const CHARS_MAX = Math.max(...LABEL_FIELDS.map((path) => path.length))

/** Finds ranks by the hash of the path, so that other paths cost a look into a small map. */
export class LabelFields {
  readonly #ranks: ReadonlyMap<number, number>

  constructor(seed: number) {
    this.#ranks = new Map(
      LABEL_FIELDS.map((path, index) => {
        return [hashBytes(Buffer.from(path), 0, path.length, seed), index + 1]
      }),
    )
  }

  /** The rank of the path, 0 when it is none of these. `hash`: of its bytes, with the seed. */
  rankOf(hash: number, path: Uint8Array): number {
    const rank = this.#ranks.get(hash) ?? 0
    if (rank === 0 || path.length > CHARS_MAX) return 0
    return Buffer.from(path).toString() === LABEL_FIELDS[rank - 1] ? rank : 0
  }
}
