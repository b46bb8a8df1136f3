/** Catalogs for tests: of what events of a table have, and of what nothing is known. */
import {
  ANY_TYPES,
  catalogPath,
  type FieldCatalog,
  NO_TEXTLESS,
  NO_TYPES,
  NOTHING_LEARNED,
  type PathParts,
  type PathTypes,
} from '../../../../src/model/field-catalog.ts'
import type { StreamId } from '../../../../src/model/stream.ts'
import { TextNames } from '../../../../src/model/text-fields.ts'

/** Every event has a string in a text field. */
function textOf(textFields: readonly string[], paths: readonly PathParts[]) {
  const textNames = new TextNames(textFields)
  const textPaths = paths.flatMap(([path, ...rest]) => {
    return path !== undefined && rest.length === 0 && textNames.has(path) ? [path] : []
  })
  return { textFields, textNames, textPaths, textless: NO_TEXTLESS }
}

/** Every path may have anything. */
export function unknownCatalog(
  streamId: StreamId,
  textFields: readonly string[],
  paths: readonly PathParts[] = [],
): FieldCatalog {
  return {
    streamId,
    ...textOf(textFields, paths),
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
  const paths = Object.keys(types).map((path) => path.split('[].'))
  return {
    streamId,
    ...textOf(textFields, paths),
    paths,
    isPartial: false,
    observed: new Map(),
    learned: { ...NOTHING_LEARNED, untilMs: 2 ** 42 },
    typesOf: (path) => ({ ...NO_TYPES, ...types[catalogPath(path)] }),
  }
}
