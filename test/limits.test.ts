/**
 * Goal: each bound of `src/limits.ts` has a test that hits it.
 * Method: a bound counts as tested when the code of some test names it outside its imports. That it
 * is met and passed there is for who writes the test; that nobody thought of it is found here.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blankNonCode, readSourceFiles } from './source-files.ts'

/** Bounds that no test names, each with its reason. An entry that is not needed fails, too. */
const EXCEPTIONS = {
  BLOCK_CELLS_MAX: 'within it are all segments (asserted); only arrays of 2 MiB in OTLP exceed it',
  CREDENTIAL_CACHE_MAX: 'tested with 4 entries; 65,536 promises take the test runner 10 s',
  REPLY_BYTES_MAX: 'tested with a smaller one in large-reply.test.ts: it would take 64 MiB',
} as const satisfies Record<string, string>

const files = readSourceFiles()
const limits = files.find(({ path }) => path === 'src/limits.ts')?.text ?? ''
const ofQueries = files.find(({ path }) => path === 'src/language/bounds.ts')?.text ?? ''
const bounds = [...`${limits}${ofQueries}`.matchAll(/^export const ([A-Z][A-Z0-9_]*) =/gm)].map(
  (match) => match[1]!,
)
const named = new Set(
  files
    .filter(({ path }) => /^test\/.*\.ts$/.test(path) && path !== 'test/limits.test.ts')
    .flatMap(({ text }) => namesUsed(text)),
)

/** What code names in capitals, but for its imports. */
function namesUsed(text: string): string[] {
  const code = blankNonCode(text).replace(/^import\s[^;]*?\sfrom\s/gm, '')
  return code.match(/\b[A-Z][A-Z0-9_]+\b/g) ?? []
}

test('each bound is named by a test, or the exceptions say why not', () => {
  assert.ok(bounds.length > 150, `${bounds.length} bounds found: are they still understood?`)
  const untested = bounds.filter((bound) => !named.has(bound))
  assert.deepEqual(untested.sort(), Object.keys(EXCEPTIONS).sort())
})

test('a name in an import, a comment or a text is no test', () => {
  const text = [
    "import { A_MAX } from 'a'",
    "import {\n  B_MAX,\n  C_MAX,\n} from 'b'",
    '// D_MAX',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the code that is scanned.
    "test('E_MAX', () => f(C_MAX, `F_MAX ${G_MAX}`))",
  ].join('\n')
  assert.deepEqual(namesUsed(text), ['C_MAX', 'G_MAX'])
})
