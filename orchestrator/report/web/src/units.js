// units.js - values of utilisation by their unit, and its metrics' names.
import {bytes, count, percent, plain} from './format.js';

const formats = {
  share: percent,
  count: value => (Number.isInteger(value) ? count(value) : plain(value)),
  cores: value => `${plain(value)} cores`,
  bytes,
  'B/s': value => `${bytes(value)}/s`,
  '1/s': value => `${plain(value)}/s`,
  W: value => `${plain(value)} W`,
  C: value => `${plain(value)} \u00b0C`,
  MHz: value => `${plain(value)} MHz`,
};

export const valueOf = unit => value =>
  (value === null ? 'unknown' : (formats[unit] ?? plain)(value));

const scopes = {gpu: 'GPU', task: 'task', step: 'step on a node', node: 'node',
  port: 'port'};

export const metricName = ({scope, name}) =>
  `${scopes[scope]}: ${name.replace(/_/g, ' ')}`;

// "12 GPUs", "1 node".
export function members({scope}, n) {
  const one = {gpu: 'GPU', step: 'node'}[scope] ?? scope;
  return `${count(n)} ${one}${n === 1 ? '' : 's'}`;
}
