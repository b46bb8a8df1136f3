/**
 * Goal: no two files need each other. In a cycle neither can be read, tested, moved or replaced
 * alone, and what a module finds of the other at load depends on which was imported first.
 * Method: the groups of files that reach each other by imports, in `src/`, `workers/` and
 * `kernels/`. Imports of types count too: they tie files together no less for a reader, and all
 * could be untied by giving the type to the file that owns it.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readSourceFiles } from './source-files.ts'
import { importsOf } from './source-imports.ts'

type Graph = ReadonlyMap<string, readonly string[]>

/** Groups of files each of which reaches all others of its group: Tarjan's algorithm. */
function cyclesOf(graph: Graph): string[][] {
  const orders = new Map<string, number>()
  const lows = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[][] = []
  const visit = (path: string): number => {
    const order = orders.size
    orders.set(path, order)
    stack.push(path)
    let low = order
    let isSelf = false
    for (const to of graph.get(path) ?? []) {
      if (to === path) isSelf = true
      if (!orders.has(to)) low = Math.min(low, visit(to))
      else if (stack.includes(to)) low = Math.min(low, lows.get(to) ?? orders.get(to)!)
    }
    lows.set(path, low)
    if (low === order) {
      const group = stack.splice(stack.indexOf(path))
      if (group.length > 1 || isSelf) cycles.push(group.sort())
    }
    return low
  }
  for (const path of graph.keys()) if (!orders.has(path)) visit(path)
  return cycles.sort()
}

test('no file imports itself, directly or through others', () => {
  const files = readSourceFiles().filter(({ path }) => /^(src|workers|kernels)\/.*\.ts$/.test(path))
  const graph = new Map(
    files.map(({ path, text }) => [path, importsOf(path, text).map(({ to }) => to)] as const),
  )
  const edges = [...graph.values()].flat().filter((to) => graph.has(to))
  assert(edges.length > 2 * graph.size, `${edges.length} imports found: are they still understood?`)
  assert.deepEqual(cyclesOf(graph), [])
})

test('each import of a file of ours names a file that is there', () => {
  const files = readSourceFiles().filter(({ path }) => /^(src|workers|kernels)\/.*\.ts$/.test(path))
  const paths = new Set(files.map(({ path }) => path))
  const lost = files.flatMap(({ path, text }) =>
    importsOf(path, text)
      .filter(({ to }) => /^(src|workers|kernels)\//.test(to) && to.endsWith('.ts'))
      .filter(({ to }) => !paths.has(to))
      .map(({ to }) => `${path} imports ${to}`),
  )
  assert.deepEqual(lost, [])
})

describe('the search for cycles', () => {
  const cycles = (edges: string) => {
    const graph = new Map<string, string[]>()
    for (const edge of edges.split(' ')) {
      const [from = '', to = ''] = edge.split('>')
      graph.set(from, [...(graph.get(from) ?? []), to])
    }
    return cyclesOf(graph).map((group) => group.join(''))
  }

  test('finds two files, longer ways round, and a file by itself', () => {
    assert.deepEqual(cycles('a>b b>a'), ['ab'])
    assert.deepEqual(cycles('x>a a>b b>c c>d d>b'), ['bcd'])
    assert.deepEqual(cycles('a>b b>a b>c c>d d>c'), ['ab', 'cd'])
    assert.deepEqual(cycles('a>b b>c c>a b>d d>a'), ['abcd'])
    assert.deepEqual(cycles('a>a'), ['a'])
  })

  test('does not take two ways to one file for a cycle', () => {
    assert.deepEqual(cycles('a>b a>c b>d c>d d>e a>e'), [])
  })
})

test('imports are seen in all their forms', () => {
  const text = [
    "import { a } from './a.ts'",
    "import type {\n  B,\n} from '../model/b.ts'",
    "export { c } from 'c'",
    "import 'node:d'",
    "const e = await import('e')",
  ].join('\n')
  assert.deepEqual(
    importsOf('src/accept/x.ts', text).map(({ to, typeOnly }) => [to, typeOnly]),
    [
      ['src/accept/a.ts', false],
      ['src/model/b.ts', true],
      ['c', false],
      ['node:d', false],
      ['e', false],
    ],
  )
})
