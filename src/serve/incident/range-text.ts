/** `-2d..-1d` of a URL: `from` and `to`, each where it is said. */
export function readRangeText(text: string) {
  const [from = '', to = 'now'] = text.split('..')
  return { ...(from !== '' && { from }), ...(to !== '' && { to }) }
}
