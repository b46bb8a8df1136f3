/**
 * Private keys as base64, the form in which Kubernetes and CI systems pass PEM blocks: the words
 * PRIVATE KEY of the first or last line, and the dash after them, at each of base64's alignments.
 * They are found from their first V, as the words themselves are.
 */
const WORDS = [
  { mark: 4, text: Buffer.from('UFJJVkFURSBLRVk'), next: 'tg' },
  { mark: 3, text: Buffer.from('BSSVZBVEUgS0VZ'), next: 'LI' },
  { mark: 6, text: Buffer.from('QUklWQVRFIEtFWS'), next: '0B' },
].map(({ next, ...words }) => ({ ...words, next: [...Buffer.from(next)] }))

/** Whether the V at `mark` is that of such words: `-` or a blank is after them. */
export function encodedKeyAt(bytes: Uint8Array, start: number, end: number, mark: number): boolean {
  for (const words of WORDS) {
    const at = mark - words.mark
    const after = at + words.text.length
    if (at < start || after >= end || !words.next.includes(bytes[after]!)) continue
    if (isAt(bytes, at, words.text)) return true
  }
  return false
}

function isAt(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text[i]) return false
  }
  return true
}
