/** What reads know of streams when a request begins: their marks, fields and freshness. */

import type { FieldCatalogStore } from '../store/catalog/field-catalog-store.ts'
import type { ReadStateStore } from '../store/raw/read-state-store.ts'
import { foundOf, isLookup, type OpenStreams } from './read-deps.ts'

export function openStreamsBy(states: ReadStateStore, catalogs: FieldCatalogStore): OpenStreams {
  return async (asked) => {
    const ids = isLookup(asked) ? asked.ids : asked.map(({ streamId }) => streamId)
    const [state, known] = await Promise.all([
      states.read(ids),
      foundOf(asked).then((streams) => catalogs.load(streams)),
    ])
    const sources = ids.map((streamId, index) => ({
      streamId,
      catalog: known[index]!,
      removedBefore: state.removedBefore(streamId),
      projected: state.projected,
    }))
    return { sources, asOfMs: state.asOfMs }
  }
}
