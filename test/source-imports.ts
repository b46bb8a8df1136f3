/** The imports of a file of ours, for tests that judge who imports whom. */
import { posix } from 'node:path'

export interface Import {
  readonly from: string
  /** A path from the root, or a package or `node:` name. */
  readonly to: string
  readonly typeOnly: boolean
}

/** Static imports, re-exports and imports by call, with a literal name. */
export function importsOf(path: string, text: string): Import[] {
  const statement = /^(?:import|export)\s(type\s)?(?:[^'"`;]*?\sfrom\s)?['"]([^'"]+)['"]/gm
  const call = /\b(?:import|require|require\.resolve)\(\s*['"]([^'"]+)['"]/g
  return [
    ...[...text.matchAll(statement)].map((match) => [match[2] ?? '', match[1] !== undefined]),
    ...[...text.matchAll(call)].map((match) => [match[1] ?? '', false]),
  ].map(([to, typeOnly]) => ({
    from: path,
    to: resolveImport(path, String(to)),
    typeOnly: typeOnly === true,
  }))
}

function resolveImport(path: string, to: string): string {
  if (!to.startsWith('.')) return to
  const target = posix.join(posix.dirname(path), to)
  // AssemblyScript knows no extension in an import.
  return path.startsWith('kernels/') && !target.endsWith('.ts') ? `${target}.ts` : target
}
