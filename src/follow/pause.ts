/** Waiting that somebody may end early, also just before it begins. */
import { setTimeout as sleep } from 'node:timers/promises'

export class Pause {
  #wake: (() => void) | undefined
  #isOver = false

  async wait(ms: number): Promise<void> {
    if (!this.#isOver) {
      const wake = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      await Promise.race([wake, sleep(ms, undefined, { ref: false })])
      this.#wake = undefined
    }
    this.#isOver = false
  }

  end(): void {
    this.#isOver = true
    this.#wake?.()
  }
}
