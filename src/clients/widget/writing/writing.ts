// What only signed-in readers need: a file of its own, which their pages load.
import type { Writing } from '../thread.ts'
import { openPanel, react } from './actions.ts'
import { bellView, hear } from './bell.ts'
import { decisionView, mutedView } from './comment-views.ts'
import { type Kit, kit } from './kit.ts'
import { newView, panelView } from './panel-view.ts'
import { resume } from './resume.ts'
import { strings } from './strings.ts'

export function writing(given: Kit): Writing {
  Object.assign(kit, given)
  Object.assign(kit.en, strings)
  return { bellView, decisionView, hear, mutedView, newView, openPanel, panelView, react, resume }
}
