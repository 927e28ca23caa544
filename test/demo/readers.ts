import { z } from 'zod'

import type { Backend, Reader } from './backend.ts'

interface Said {
  by: Reader
  body: string
  reactions?: readonly [Reader, string][]
  replies?: readonly Said[]
}

const reader = (id: string, name: string): Reader => ({ id, name })
const ANN = reader('ann', 'Ann Okafor')
const BOB = reader('bob', 'Bob Lindqvist')
const CLEO = reader('cleo', 'Cléo Marchand')
const DEV = reader('dev', 'Dev Raman')
const SALMA = reader('salma', 'سلمى حداد')
const YUSUF = reader('yusuf', 'يوسف العطار')

/** What has been said already when the doors open. */
const SAID: Readonly<Record<string, readonly Said[]>> = {
  'night-trains': [
    {
      by: DEV,
      body: 'I took it last week. The bunk is narrow, the breakfast is **excellent**, and I slept through two countries.',
      reactions: [
        [ANN, 'love'],
        [BOB, 'love'],
        [CLEO, 'laugh'],
      ],
      replies: [
        { by: CLEO, body: 'Which berth did you have? I hear that the upper ones are quieter.' },
        {
          by: DEV,
          body: 'The upper one. It is warmer too, so bring less than you think.',
          reactions: [[CLEO, 'love']],
        },
      ],
    },
    {
      by: CLEO,
      body: 'Forty cars in three years is not a plan, it is a wish. Compare the [timetable of 1993](https://example.com/1993):\n\n> Sleepers left from eleven stations, every night of the week.\n\nWe had all of this once.',
      reactions: [
        [DEV, 'wow'],
        [ANN, 'sad'],
      ],
    },
    { by: BOB, body: 'Does anyone know whether bicycles have to be booked as well?' },
  ],
  'library-hours': [{ by: ANN, body: 'I am one of the nurses. The chairs by the window are the best in town.' }],
  qahwa: [
    {
      by: SALMA,
      body: 'زرته مرة قبل الفجر، ورائحة الهيل ما زالت في ذاكرتي.',
      reactions: [
        [YUSUF, 'love'],
        [ANN, 'like'],
      ],
      replies: [{ by: YUSUF, body: 'جدّي كان من روّاده. شكرًا على هذا المقال الجميل!' }],
    },
  ],
}

const made = z.object({ id: z.string() })

export async function fillArticles(backend: Backend): Promise<void> {
  const say = async (article: string, { by, body, reactions = [], replies = [] }: Said, parentId?: string) => {
    const comment = { body, ...(parentId === undefined ? {} : { parentId }) }
    const { id } = await backend.post(`/discussions/by-external/${article}/comments`, made, comment, by)
    for (const [who, type] of reactions) await backend.post(`/comments/${id}/reactions`, z.unknown(), { type }, who)
    for (const reply of replies) await say(article, reply, id)
  }
  for (const [article, all] of Object.entries(SAID)) for (const said of all) await say(article, said)
}
