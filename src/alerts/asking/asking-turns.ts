/**
 * Whose turn it is to be asked: a few at a time, and of those that have failed before one, so that
 * rules that are slow or broken hold up nobody but each other.
 */

export class AskingTurns<Item> {
  readonly #places: number
  readonly #work: (item: Item) => Promise<void>
  readonly #waiting: { readonly item: Item; readonly hasFailed: boolean }[] = []
  /** Under way, by whether it has failed before. */
  readonly #running = new Map<Promise<void>, boolean>()

  /** `work` never rejects. */
  constructor(places: number, work: (item: Item) => Promise<void>) {
    this.#places = places
    this.#work = work
  }

  add(item: Item, hasFailed: boolean): void {
    this.#waiting.push({ item, hasFailed })
    this.#next()
  }

  /** Resolves when nothing waits and nothing runs. */
  async untilIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.keys())
  }

  #next(): void {
    while (this.#running.size < this.#places) {
      const isFailing = [...this.#running.values()].includes(true)
      const at = this.#waiting.findIndex(({ hasFailed }) => !(hasFailed && isFailing))
      const [next] = at < 0 ? [] : this.#waiting.splice(at, 1)
      if (next === undefined) return
      const running = this.#work(next.item).then(() => {
        this.#running.delete(running)
        this.#next()
      })
      this.#running.set(running, next.hasFailed)
    }
  }
}
