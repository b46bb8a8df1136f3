/** The catalog of several streams in one table: a path may have whatever any of them may have. */
import {
  catalogPath,
  type FieldCatalog,
  type LearnedRows,
  type PathParts,
  type PathTypes,
  SCALAR_TYPES,
  type Textless,
} from '../../../model/field-catalog.ts'
import { leastMarks } from '../../../model/segment-place.ts'

/** Precondition: there is at least one catalog, and all have the same setting of text fields. */
export function mergeCatalogs(catalogs: readonly FieldCatalog[]): FieldCatalog {
  const [first] = catalogs
  if (first === undefined || catalogs.length === 1) return first!
  return {
    streamId: first.streamId,
    textFields: first.textFields,
    textNames: first.textNames,
    textPaths: [...new Set(catalogs.flatMap(({ textPaths }) => textPaths))].sort(),
    textless: mergeTextless(catalogs.map(({ textless }) => textless)),
    isPartial: catalogs.some(({ isPartial }) => isPartial),
    learned: mergeLearned(catalogs.map(({ learned }) => learned)),
    observed: leastMarks(catalogs.map(({ observed }) => observed)),
    typesOf: (path) => mergeTypes(catalogs.map((catalog) => catalog.typesOf(path))),
    paths: mergePaths(catalogs.map(({ paths }) => paths)),
  }
}

function mergePaths(all: readonly (readonly PathParts[])[]): readonly PathParts[] {
  const paths = new Map(all.flat().map((path) => [catalogPath(path), path]))
  return [...paths].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, path]) => path)
}

/** A shape says what its events have, whichever stream they are of. */
function mergeTextless(all: readonly Textless[]): Textless {
  return {
    shapes: [...new Set(all.flatMap(({ shapes = [] }) => shapes))],
    doubtful: [...new Set(all.flatMap(({ doubtful }) => doubtful))].sort(),
    paths: mergePaths(all.map(({ paths }) => paths)),
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
