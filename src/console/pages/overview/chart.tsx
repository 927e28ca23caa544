import '@mantine/charts/styles.css'

import { BarChart } from '@mantine/charts'

import type { Figure } from './figures.ts'

/** A figure as stacked bars. Hidden from screen readers, which get its table. */
export function Chart({ figure, rows }: { figure: Figure; rows: readonly Record<string, string | number>[] }) {
  return (
    <div aria-hidden>
      <BarChart
        h={figure.parts.length > 1 ? 220 : 180}
        data={rows.map((row) => ({ ...row }))}
        dataKey="at"
        type="stacked"
        series={figure.parts.map(({ name, colour }) => ({ name, color: colour }))}
        withLegend={figure.parts.length > 1}
        legendProps={{ verticalAlign: 'bottom', itemSorter: null }}
        tickLine="none"
        gridAxis="x"
        // Every label at its line: without an interval, labels too near each other would be left
        // out, with their lines.
        yAxisProps={{ allowDecimals: false, width: 40, interval: 0 }}
        xAxisProps={{ minTickGap: 16 }}
        barProps={{ isAnimationActive: false, stroke: 'var(--mantine-color-body)', strokeWidth: 1 }}
        barChartProps={{ accessibilityLayer: false, margin: { top: 10, right: 5, bottom: 5, left: 5 } }}
        tooltipAnimationDuration={0}
      />
    </div>
  )
}
