/** Sets texts of the widget for a language, such as `de`. What is not set stays English. */
export { setStrings } from './strings.js'

/** `<engagement-thread>`: the comments of a page. Loading the module defines it. */
export declare class EngagementThread extends HTMLElement {}
/** `<engagement-count>`: how many comments a page has. */
export declare class EngagementCount extends HTMLElement {}

declare global {
  interface HTMLElementTagNameMap {
    'engagement-thread': EngagementThread
    'engagement-count': EngagementCount
  }
}
