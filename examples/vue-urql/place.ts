import type { CommentPartsFragment } from 'engagement-service/graphql/documents'
import type { InjectionKey, Ref } from 'vue'

/** What all comments of the page share. */
export interface Place {
  externalId: string
  isSignedIn: Ref<boolean>
  /** The reader's own comments that wait or were rejected, and are in no list. */
  held: Ref<CommentPartsFragment[]>
  /** Asks for them again. */
  reloadHeld: () => unknown
}

/** Only its author sees these. */
export const isHeld = (status: string): boolean => status === 'pending' || status === 'rejected'

export const PLACE: InjectionKey<Place> = Symbol('place')
