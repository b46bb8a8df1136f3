/** The catalog of several streams in one table: a path may have whatever any of them may have. */
import {
  catalogPath,
  type FieldCatalog,
  type LearnedRows,
  type PathParts,
  type PathTypes,
  SCALAR_TYPES,
} from '../../../model/field-catalog.ts'
import { leastMarks } from '../../../model/segment-place.ts'

/**
 * Precondition: there is at least one catalog, and either their text fields are the same or all of
 * their strings are text: then a path of strings is a text field of any stream that has it.
 */
export function mergeCatalogs(catalogs: readonly FieldCatalog[]): FieldCatalog {
  const [first] = catalogs
  if (first === undefined || catalogs.length === 1) return first!
  const paths = new Map<string, PathParts>()
  for (const catalog of catalogs) {
    for (const path of catalog.paths) paths.set(catalogPath(path), path)
  }
  return {
    streamId: first.streamId,
    textFields: [...new Set(catalogs.flatMap((catalog) => catalog.textFields))],
    isAllText: first.isAllText,
    isPartial: catalogs.some(({ isPartial }) => isPartial),
    learned: mergeLearned(catalogs.map(({ learned }) => learned)),
    observed: leastMarks(catalogs.map(({ observed }) => observed)),
    typesOf: (path) => mergeTypes(catalogs.map((catalog) => catalog.typesOf(path))),
    paths: [...paths].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, path]) => path),
  }
}

function mergeTypes(all: readonly PathTypes[]): PathTypes {
  const scalars = new Set(all.flatMap((types) => types.scalars))
  const elements = new Set(all.flatMap((types) => types.elements))
  return {
    scalars: SCALAR_TYPES.filter((type) => scalars.has(type)),
    elements: SCALAR_TYPES.filter((type) => elements.has(type)),
    hasObjects: all.some(({ hasObjects }) => hasObjects),
  }
}

/** What is true of all of them. */
function mergeLearned(all: readonly LearnedRows[]): LearnedRows {
  const behind = new Map<number, number>()
  for (const { nodeId, untilMs } of all.flatMap((learned) => learned.behind)) {
    behind.set(nodeId, Math.min(behind.get(nodeId) ?? untilMs, untilMs))
  }
  return {
    untilMs: Math.min(...all.map(({ untilMs }) => untilMs)),
    behind: [...behind].map(([nodeId, untilMs]) => ({ nodeId, untilMs })),
    upTo: leastMarks(all.map(({ upTo }) => upTo)),
  }
}
