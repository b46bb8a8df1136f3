import { Dialog } from '../parts/dialog.tsx'

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['/', 'to the query, or the filter of a list'],
  ['Enter', 'run the query; open or close the event'],
  ['↑', 'in an empty query: earlier searches'],
  ['Shift Enter', 'a new line in the query'],
  ['Ctrl Space', 'proposals for what is typed'],
  ['j, k or ↓, ↑', 'the next event, the one before'],
  ['→', 'into the fields of the event; ↓, ↑ go through them'],
  ['←, Escape', 'back to the event; close it'],
  ['f, x', 'include, exclude: the value with the focus, or the level of the event'],
  ['g', 'group by the value’s field, or by any'],
  ['d', 'what is different in this range from before'],
  ['m', 'which kinds of messages there are'],
  ['c, y', 'the value’s field as a column; copy the value'],
  ['a', 'the value, or the trace of the event, in all streams, five minutes around it'],
  ['n, p', 'the next error, the one before'],
  ['o', 'the oldest events first, and back'],
  ['t', 'the time range; a digit takes one of the list'],
  ['h', 'the stretch with the most errors alone'],
  ['l', 'live, on and off'],
  ['r', 'ask again'],
  ['e', 'export what is shown'],
  ['s', 'a link to it, to share'],
  ['w', 'a rule that tells when it is found'],
  ['Ctrl K', 'go anywhere, do anything'],
  ['?', 'this page'],
]

const QUERIES: readonly (readonly [query: string, finds: string])[] = [
  ['timeout', 'the word, in any case, in the text fields'],
  ['"connection reset"', 'the words in a row'],
  ['status:>=500', 'numbers'],
  ['service:(cart OR checkout)', 'one of several values'],
  ['-path:/health', 'all but these'],
  ['error.type:*', 'the field is there'],
  ['path:/api/*', 'any ending'],
  ['message:/time ?out/i', 'a regular expression'],
  ['items[].price:>4', 'some element of an array'],
  ['_level:>=warn', 'by severity'],
]

/** The keys and the language on one page. */
export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys and queries" onClose={onClose} isWide>
      <div class="halves">
        <Terms terms={KEYS} />
        <Terms terms={QUERIES} />
      </div>
    </Dialog>
  )
}

function Terms({ terms }: { terms: readonly (readonly [string, string])[] }) {
  return (
    <dl class="terms">
      {terms.map(([name, text]) => (
        <div key={name}>
          <dt>
            <kbd>{name}</kbd>
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  )
}
