// Reads a JSON list of diagrams, and writes what Mermaid itself says about each. It needs a browser's names: jsdom has them.
import { JSDOM } from 'jsdom';
import { readFileSync } from 'node:fs';

const { window } = new JSDOM('<!doctype html><body></body>');
globalThis.window = window;
for (const name of ['document', 'Element', 'HTMLElement', 'SVGElement', 'Node', 'DOMParser', 'Option', 'Image']) {
  globalThis[name] = window[name];
}
const { default: mermaid } = await import('mermaid');
mermaid.initialize({ startOnLoad: false });

const answers = [];
for (const text of JSON.parse(readFileSync(0, 'utf8'))) {
  try {
    const { diagramType } = await mermaid.parse(text);
    answers.push({ valid: true, said: diagramType });
  } catch (error) {
    answers.push({ valid: false, said: String(error.message ?? error).split('\n')[0] });
  }
}
process.stdout.write(JSON.stringify(answers));
