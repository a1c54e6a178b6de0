"""Two tools, and a turn with one call in every style, as chat templates write it."""

from __future__ import annotations

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
SEARCH = {
    "name": "search",
    "input_schema": {
        "type": "object",
        "properties": {
            "q": {"type": "string", "maxLength": 6},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        },
        "required": ["q"],
        "additionalProperties": False,
    },
}
# the assistant's part of a turn with one call, as the models' chat templates write it
CITY = '{"city": "Rome", "days": 2}'
DSML = "｜DSML｜"
RENDERED = {
    "llama": '{"name": "get_weather", "parameters": ' + CITY + "}",
    "qwen_3": '<tool_call>\n{"name": "get_weather", "arguments": ' + CITY + "}\n</tool_call>",
    "hermes": '<tool_call>\n{"name": "get_weather", "arguments": ' + CITY + "}\n</tool_call>",
    "exaone": '<tool_call>{"name": "get_weather", "arguments": ' + CITY + "}</tool_call>",
    "qwen_3_5": "<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n<parameter=days>\n2\n"
    "</parameter>\n</function>\n</tool_call>",
    "qwen_3_coder": "<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n<parameter=days>\n2\n"
    "</parameter>\n</function>\n</tool_call>",
    "mimo": "<tool_call><function=get_weather><parameter=city>Rome</parameter><parameter=days>2</parameter>"
    "</function></tool_call>",
    "glm_4_7": "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Rome</arg_value><arg_key>days</arg_key>"
    "<arg_value>2</arg_value></tool_call>",
    "pythonic": '[get_weather(city="Rome", days=2)]',
    "mistral": "[TOOL_CALLS]get_weather[ARGS]" + CITY,
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
    + CITY
    + "<|tool_call_end|><|tool_calls_section_end|>",
    "kimi_k3": '<|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>'
    '<|open|>argument key="city" type="string"<|sep|>Rome<|close|>argument<|sep|>'
    '<|open|>argument key="days" type="number"<|sep|>2<|close|>argument<|sep|>'
    "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>",
    "deepseek_r1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
    + CITY
    + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek_v3_1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
    + CITY
    + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek_v3_2": f'<{DSML}function_calls>\n<{DSML}invoke name="get_weather">\n'
    f'<{DSML}parameter name="city" string="true">Rome</{DSML}parameter>\n'
    f'<{DSML}parameter name="days" string="false">2</{DSML}parameter>\n</{DSML}invoke>\n</{DSML}function_calls>',
    "deepseek_v4": f'<{DSML}tool_calls>\n<{DSML}invoke name="get_weather">\n'
    f'<{DSML}parameter name="city" string="true">Rome</{DSML}parameter>\n'
    f'<{DSML}parameter name="days" string="false">2</{DSML}parameter>\n</{DSML}invoke>\n</{DSML}tool_calls>',
    "minimax": '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Rome</parameter>\n'
    '<parameter name="days">2</parameter>\n</invoke>\n</minimax:tool_call>',
    "minimax_m3": ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Rome]<]minimax[>[</city>'
    "]<]minimax[>[<days>2]<]minimax[>[</days>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    "cohere": '<cofl:tool_calls><cofl:tool_call id="0" name="get_weather"><cofl:value name="city" type="raw">Rome</cofl:value>'
    '<cofl:value name="days" type="json">2</cofl:value></cofl:tool_call></cofl:tool_calls>',
    "harmony": "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
    + CITY
    + "<|call|>",
}
