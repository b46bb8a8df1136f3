/** What is known of fields, in place of a catalog: path, type, events of a hundred. */
import { foldName } from '../../src/model/match-names.ts'
import { FIELD_TYPES, type FieldType } from '../../src/model/schema.ts'
import type { StreamId } from '../../src/model/stream.ts'
import type { FieldSource } from '../../src/read/find-fields.ts'
import type { IndexedStream } from '../../src/store/catalog/field-index.ts'
import { KnownFields } from '../../src/store/catalog/known-fields.ts'

export type SomeField = readonly [path: string, type: FieldType, events: number]

/** Each stream, whatever its id, has a hundred events, and fields by its place. */
export function indexOf(...streams: readonly (readonly SomeField[])[]): FieldSource {
  return {
    load: async (ids) => ({
      streams: ids.map((streamId, index) => indexedStream(streamId, streams[index] ?? [])),
      isCut: false,
    }),
  }
}

function indexedStream(streamId: StreamId, fields: readonly SomeField[]): IndexedStream {
  const known = new KnownFields(fields.map(([path, type]) => ({ path, types: [type] })))
  const events = new Map(fields.map(([path, , count]) => [path, count]))
  return {
    streamId,
    fields: fields.map(([path, type]) => {
      return { path, folded: foldName(path), types: [type], parts: known.partsOf(path) }
    }),
    counts: {
      events: 100,
      paths: fields.length,
      of: (path) => {
        const count = events.get(path)
        return count ? { events: count, byType: FIELD_TYPES.map(() => count) } : undefined
      },
    },
    isPartial: false,
  }
}
