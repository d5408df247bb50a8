// server.js
import { createRequestHandler } from "@react-router/express";
import express from "express";
import process from "node:process";
import { gcra, limiter } from "tidegate";
import { rateLimit } from "tidegate/express";
import * as build from "./build/server/index.js";

const app = express();
app.use(express.static("build/client"));
app.use(rateLimit({
  limiter: limiter(gcra({ name: "api", limit: 60, period: "1m", burst: 10 })),
}));
app.use(createRequestHandler({ build }));
app.listen(Number(process.env.PORT ?? 3000));
