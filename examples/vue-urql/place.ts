import type { CommentPartsFragment } from 'engagement-service/graphql/documents'
import type { InjectionKey, Ref } from 'vue'

/** What all comments of the page share. */
export interface Place {
  externalId: string
  isSignedIn: Ref<boolean>
  /** Own comments that wait for approval: they are in no list. */
  held: Ref<CommentPartsFragment[]>
}

export const PLACE: InjectionKey<Place> = Symbol('place')
