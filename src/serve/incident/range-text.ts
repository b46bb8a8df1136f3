import { malformed } from '../../errors.ts'

/** `-2d..-1d` of a URL: `from` and `to`, each where it is said. Throws `malformed`. */
export function readRangeText(text: string) {
  const [from = '', to = 'now', ...more] = text.split('..')
  if (more.length > 0) throw malformed('a range has two times, as in "-2d..-1d"')
  return { ...(from !== '' && { from }), ...(to !== '' && { to }) }
}
