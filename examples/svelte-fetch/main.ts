import { mount } from 'svelte'

import Comments from './Comments.svelte'
import { Thread } from './thread.svelte.ts'

const thread = new Thread()
mount(Comments, { target: document.getElementById('comments') as HTMLElement, props: { thread } })
void thread.begin()
