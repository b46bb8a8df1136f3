/** Whether `start`..`end` of `bytes` is the text `from`..`to`. Of few bytes. */
export function isTextAt(
  bytes: Uint8Array,
  start: number,
  end: number,
  text: Uint8Array,
  from = 0,
  to = text.length,
): boolean {
  if (end - start !== to - from) return false
  for (let i = start; i < end; i++) if (bytes[i] !== text[from + i - start]) return false
  return true
}
