/** What the person typed makes no sense; the message says what would. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
