/** Results that wait for the client. The library itself would hold any number. */
const MAX_WAITING = 16

/** Holds results back while the client has not taken the ones before. */
export class Gate {
  #waiting = 0
  #isOpen = true
  #wake: (() => void)[] = []

  async enter(): Promise<void> {
    while (this.#waiting >= MAX_WAITING && this.#isOpen) await new Promise<void>((resolve) => this.#wake.push(resolve))
    this.#waiting++
  }

  leave(): void {
    this.#waiting--
    this.#wake.splice(0).forEach((wake) => wake())
  }

  /** Nobody takes anything any more: those that wait go on, and end. */
  close(): void {
    this.#isOpen = false
    this.#wake.splice(0).forEach((wake) => wake())
  }
}
