// echarts.js - the parts of Apache ECharts that our charts use.
import * as echarts from 'echarts/core';
import {
  BarChart, BoxplotChart, CustomChart, HeatmapChart, LineChart, ScatterChart,
} from 'echarts/charts';
import {
  AriaComponent, DataZoomComponent, GridComponent, LegendComponent,
  MarkLineComponent, TooltipComponent, VisualMapContinuousComponent,
} from 'echarts/components';
import {SVGRenderer} from 'echarts/renderers';

echarts.use([
  BarChart, BoxplotChart, CustomChart, HeatmapChart, LineChart, ScatterChart,
  AriaComponent, DataZoomComponent, GridComponent, LegendComponent,
  MarkLineComponent, TooltipComponent, VisualMapContinuousComponent,
  SVGRenderer,
]);

export const init = echarts.init;
