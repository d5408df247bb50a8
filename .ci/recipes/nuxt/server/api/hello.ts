export default defineEventHandler(() => "hello");
