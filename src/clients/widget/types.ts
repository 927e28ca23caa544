// The types of the package: those of `widget.ts` would need the types of its libraries.
import type { Strings } from './strings/strings.ts'

/** Sets texts of the widget for a language, such as `de`. The others stay as they are. */
export declare const setStrings: (lang: string, strings: Partial<Strings>) => void

declare class WidgetElement extends HTMLElement {
  /** Texts of this element. */
  strings: Partial<Strings>
  /** Loads all again, as after a sign-in without a new page. */
  reload(): void
  /** Who reads a page of a site. It is asked with true after the service has refused a token. */
  setIdentity(identity: ((isRefused: boolean) => Token | Promise<Token>) | null): void
}
type Token = string | null | undefined

/** `<engagement-thread>`: the comments of a page. Loading the module defines it. */
export declare class EngagementThread extends WidgetElement {}
/** `<engagement-count>`: how many comments a page has. */
export declare class EngagementCount extends WidgetElement {}

declare global {
  interface HTMLElementTagNameMap {
    'engagement-thread': EngagementThread
    'engagement-count': EngagementCount
  }
}
