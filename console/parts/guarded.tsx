import { Component, type ComponentChildren } from 'preact'
import { failureText } from '../base/api.ts'
import { Failure } from './failure.tsx'

interface GuardedProps {
  /** What is shown: another one is drawn anew. */
  readonly of: string
  readonly children: ComponentChildren
}

interface GuardedState {
  readonly failure: string | undefined
  readonly of: string
}

/**
 * Where something cannot be drawn, as an answer of another version of the service might be, that is
 * told in its place, and the rest of the page still works.
 */
export class Guarded extends Component<GuardedProps, GuardedState> {
  override state: GuardedState = { failure: undefined, of: '' }

  override componentDidCatch(cause: unknown): void {
    console.error(cause)
    this.setState({ failure: failureText(cause), of: this.props.of })
  }

  override render() {
    const { failure, of } = this.state
    if (failure === undefined || of !== this.props.of) return this.props.children
    return (
      <Failure text={`This cannot be shown: ${failure}`}>
        <button type="button" onClick={() => location.reload()}>
          Load the page again
        </button>
      </Failure>
    )
  }
}
