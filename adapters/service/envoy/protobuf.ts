/*
 * The little of protobuf that Envoy's call needs: reading and writing of varints and of fields with
 * a length, without a library and without generated code.
 *
 * Source: protobuf.dev, "Encoding".
 */

/** The wire types that are still in use. */
const VARINT = 0;
const FIXED_64 = 1;
const LENGTH = 2;
const FIXED_32 = 5;

/** A field of a message: its number, and its value as a number or as bytes. */
export interface Field {
  readonly number: number;
  /** Of a varint; numbers of more than 53 bits lose their lowest ones. */
  readonly value: number;
  /** Of text, bytes and messages; empty for the others. */
  readonly bytes: Uint8Array;
}

const NO_BYTES = new Uint8Array(0);

/**
 * The fields of a message, in order.
 *
 * @throws {RangeError} If the message ends within a field, or a field is of no known type.
 */
export function* fieldsOf(message: Uint8Array): Generator<Field> {
  let place = 0;

  function varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = message[place++];
      if (byte === undefined) throw cutOff();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    throw new RangeError("Cannot read the message as a varint must be of at most 10 bytes");
  }

  function take(length: number): Uint8Array {
    if (length > message.length - place) throw cutOff();
    place += length;
    return message.subarray(place - length, place);
  }

  while (place < message.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    switch (tag % 8) {
      case VARINT:
        yield { number, value: varint(), bytes: NO_BYTES };
        break;
      case LENGTH:
        yield { number, value: 0, bytes: take(varint()) };
        break;
      case FIXED_64:
        take(8);
        break;
      case FIXED_32:
        take(4);
        break;
      default:
        throw new RangeError(`Cannot read the message as field ${number} is of an unknown type`);
    }
  }
}

function cutOff(): RangeError {
  return new RangeError("Cannot read the message as it must end with a field: it is cut off");
}

const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

/**
 * The text of a field.
 *
 * @throws {TypeError} If it is no UTF-8.
 */
export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** A varint field; a value of 0 is the default, and is left out. */
export function varintField(number: number, value: number): number[] {
  return value === 0 ? [] : [...varintBytes(number * 8 + VARINT), ...varintBytes(value)];
}

/** A field of text; an empty one is left out. */
export function textField(number: number, text: string): number[] {
  return text === "" ? [] : messageField(number, encoder.encode(text));
}

/** A field that holds a message. */
export function messageField(number: number, message: ArrayLike<number>): number[] {
  return [
    ...varintBytes(number * 8 + LENGTH),
    ...varintBytes(message.length),
    ...Array.from(message),
  ];
}

function varintBytes(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push(rest % 128 + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return bytes;
}
