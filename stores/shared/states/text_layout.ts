/*
 * States to which a combinator has added something, such as a block. They are kept as
 * text, in a chain of nodes. States without the addition lie as those of the algorithm inside. An `all`
 * of parts whose words have no bound is always text.
 *
 * The first cell of the block is the length of the text, and the second names the chain. The first
 * word of a node is the next node, and the second says that no cell names another node. Each further
 * word holds two units of UTF-16.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { CHAIN } from "../allocator/node_shape.ts";
import type { Nodes } from "../allocator/nodes.ts";
import { BLOCK, NODE } from "../layout.ts";
import { CELLS, kindOf, ROOT_CELL, type StateLayout, visitNodes } from "./block_layout.ts";
import { TORN } from "./stored_timeline.ts";

/** Units of UTF-16 in a node. */
export const UNITS_PER_NODE: number = 2 * (NODE - 2);

/**
 * The layout of an algorithm's states.
 *
 * @param plain The layout of states without the addition; `undefined` if all states are text.
 */
export function textLayout(
  nodes: Nodes,
  algorithm: Algorithm,
  plain: StateLayout | undefined,
): StateLayout {
  const { memory } = nodes;
  const { ints, blocks, lastNode } = memory;
  const { codec, initial, internals } = algorithm;
  const isPlain = (state: unknown) => internals!.wraps!.innerOf(state) === state;
  // A text may fill all nodes. A greater length was read while another thread overwrote the block.
  const longest = UNITS_PER_NODE * lastNode;
  const firstAt = (block: number) => blocks + block * BLOCK + ROOT_CELL;
  const lengthAt = (block: number) => blocks + block * BLOCK + CELLS;

  function read(block: number): string {
    const length = ints[lengthAt(block)]!;
    if (!(length >= 0 && length <= longest)) throw TORN;
    const units: number[] = [];
    let text = "";
    let node = ints[firstAt(block)]!;
    for (let start = 0; start < length; start += UNITS_PER_NODE) {
      // The last node of a chain names node 0, which stands for none.
      if (node === 0) throw TORN;
      const at = nodes.at(node);
      units.length = 0;
      const count = Math.min(UNITS_PER_NODE, length - start);
      for (let word = 0; 2 * word < count; word++) {
        const two = ints[at + 2 + word]!;
        units.push(two & 0xffff, two >>> 16);
      }
      text += String.fromCharCode.apply(undefined, units);
      node = ints[at]!;
    }
    // A word holds two units, and the text may have an odd number of them.
    return text.length === length ? text : text.slice(0, length);
  }

  function write(block: number, text: string): void {
    let next = 0;
    const count = Math.max(1, Math.ceil(text.length / UNITS_PER_NODE));
    for (let index = count - 1; index >= 0; index--) {
      const node = nodes.make();
      const at = nodes.at(node);
      ints[at] = next;
      ints[at + 1] = 0;
      for (let word = 0; word < NODE - 2; word++) {
        const unit = index * UNITS_PER_NODE + 2 * word;
        // Units past the end of the text are 0.
        ints[at + 2 + word] = text.charCodeAt(unit) | (text.charCodeAt(unit + 1) << 16);
      }
      next = node;
    }
    ints[lengthAt(block)] = text.length;
    ints[lengthAt(block) + 1] = 0;
    ints[firstAt(block)] = next;
    ints[firstAt(block) + 1] = 0;
  }

  return {
    isNumber: plain !== undefined && plain.isNumber,
    initial: plain === undefined ? initial : plain.initial,
    load: (block) =>
      plain === undefined || kindOf(memory, block) === 3
        ? codec.decode(read(block))
        : plain.load(block),
    save(state, block, old) {
      const wasText = old !== 0 && kindOf(memory, old) === 3;
      if (plain !== undefined && isPlain(state)) {
        if (wasText) nodes.drop(ints[firstAt(old)]!, CHAIN);
        return plain.save(state, block, wasText ? 0 : old);
      }
      // Make the text before nodes are released, because the state may still read from them.
      write(block, codec.encode(state));
      if (old !== 0) visitNodes(memory, old, nodes.drop);
      return 3;
    },
  };
}
