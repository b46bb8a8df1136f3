/**
 * Goal: colours of terminals become classes of a closed list, their sequences are not shown, and
 * nothing else of a text is hidden or obeyed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ansiRuns } from '../../console/text/ansi.ts'
import { piecesOf } from '../../console/text/pieces.ts'

/** The pieces as `<style>text`. */
function drawn(text: string): string {
  return ansiRuns(text)
    .map(({ start, end, style }) => `<${style}>${text.slice(start, end)}`)
    .join('')
}

test('the sixteen colours, styles, and what ends them', () => {
  assert.equal(drawn('plain'), '<>plain')
  assert.equal(drawn('\u001b[31mred\u001b[0m plain'), '<ansi-red>red<> plain')
  assert.equal(drawn('\u001b[91mred\u001b[39m.'), '<ansi-red>red<>.')
  assert.equal(drawn('\u001b[1;32mok\u001b[22m.'), '<ansi-green ansi-bold>ok<ansi-green>.')
  assert.equal(drawn('\u001b[3m\u001b[4ma\u001b[m.'), '<ansi-italic ansi-under>a<>.')
  assert.equal(drawn('\u001b[2mdim'), '<ansi-quiet>dim')
  assert.equal(drawn('\u001b[30mblack \u001b[97mwhite'), '<>black <>white')
  assert.equal(drawn('\u001b[37;41mon'), '<ansi-on ansi-on-red>on')
  assert.equal(drawn('\u001b[7;33mx'), '<ansi-on ansi-on-yellow>x')
})

test('of 256 and of 16 million the nearest hue', () => {
  const styles = ['38;5;9', '38;5;208', '38;5;21', '38;5;51', '38;5;240', '38;2;20;200;30']
  assert.deepEqual(
    styles.map((codes) => ansiRuns(`\u001b[${codes}mx`)[0]!.style),
    ['ansi-red', 'ansi-red', 'ansi-blue', 'ansi-cyan', 'ansi-quiet', 'ansi-green'],
  )
  assert.equal(
    drawn('\u001b[38:2:255:0:255mx\u001b[48;5;46;1my'),
    '<ansi-magenta>x<ansi-magenta ansi-on ansi-on-green ansi-bold>y',
  )
  assert.equal(drawn('\u001b[38mx\u001b[38;5mx\u001b[38;9;1my'), '<>x<>x<ansi-bold>y')
})

test('what would hide text hides none, and other sequences are seen', () => {
  const shown = (text: string) =>
    piecesOf(text, [], { isLine: true, hasColors: true })
      .map((piece) => piece.text)
      .join('')
  assert.equal(shown('a\u001b[8mb'), 'ab')
  assert.equal(shown('a\u001b[01;31m\u001b[Kb'), 'ab')
  assert.equal(shown('a\u001b[2Jb\u001b]0;title\u0007'), 'a\\u001b[2Jb\\u001b]0;title\\u0007')
  assert.equal(shown('a\u001b[3'), 'a\\u001b[3')
})

test('a match goes on behind a sequence; without colours they are left out', () => {
  const text = 'a \u001b[31mtimed\u001b[0m out'
  const match = [[text.indexOf('timed'), text.length]] as const
  assert.deepEqual(piecesOf(text, match, { isLine: false, hasColors: true }), [
    { text: 'a ', style: '', isMatch: false },
    { text: 'timed', style: 'ansi-red', isMatch: true },
    { text: ' out', style: '', isMatch: true },
  ])
  const plain = piecesOf(text, [], { isLine: false, hasColors: false })
  assert.deepEqual(
    plain.map(({ style }) => style),
    ['', '', ''],
  )
})

test('whatever the text is, all of it is there but sequences, in classes that are known', () => {
  const texts = fc.string({
    unit: fc.constantFrom('\u001b', '[', '3', '8', ';', '5', ':', 'm', 'K', 'x', '\n', '"'),
    maxLength: 40,
  })
  const known = /^(|ansi-(on|on-\w+|quiet|red|green|yellow|blue|magenta|cyan|bold|italic|under))$/
  fc.assert(
    fc.property(texts, (text) => {
      const runs = ansiRuns(text)
      const kept = runs.map(({ start, end }) => text.slice(start, end)).join('')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with one.
      assert.equal(kept, text.replace(/\u001b\[[0-9;:]*[mK]/g, ''))
      for (const { style } of runs) {
        for (const name of style.split(' ')) assert.match(name, known)
      }
    }),
  )
})
