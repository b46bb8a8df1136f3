/** Catalogs for tests: of what events of a table have, and of what nothing is known. */
import {
  ANY_TYPES,
  catalogPath,
  type FieldCatalog,
  NO_TYPES,
  NOTHING_LEARNED,
  type PathParts,
  type PathTypes,
} from '../../../../src/model/field-catalog.ts'
import type { StreamId } from '../../../../src/model/stream.ts'

/** Every path may have anything. */
export function unknownCatalog(
  streamId: StreamId,
  textFields: readonly string[],
  paths: readonly PathParts[] = [],
): FieldCatalog {
  return {
    streamId,
    textFields,
    isAllText: false,
    isPartial: false,
    observed: new Map(),
    paths,
    learned: NOTHING_LEARNED,
    typesOf: () => ANY_TYPES,
  }
}

/** Of a stream whose rows are all learned from. Types by path as `catalogPath` writes it. */
export function learnedCatalog(
  streamId: StreamId,
  textFields: readonly string[],
  types: Readonly<Record<string, Partial<PathTypes>>>,
): FieldCatalog {
  return {
    streamId,
    textFields,
    paths: Object.keys(types).map((path) => path.split('[].')),
    isAllText: false,
    isPartial: false,
    observed: new Map(),
    learned: { ...NOTHING_LEARNED, untilMs: 2 ** 42 },
    typesOf: (path) => ({ ...NO_TYPES, ...types[catalogPath(path)] }),
  }
}
