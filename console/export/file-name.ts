/** Of anything: letters, digits and dashes, as file systems take them everywhere. */
export function fileName(of: string, time: string, ending: string): string {
  const plain = of.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[.-]+/, '')
  const stamp = time.slice(0, 19).replaceAll(':', '').replace(/[ T]/, '-')
  const start =
    [...plain]
      .slice(0, 60)
      .join('')
      .replace(/[.-]+$/, '') || 'events'
  return `${start}-${stamp}.${ending}`
}
