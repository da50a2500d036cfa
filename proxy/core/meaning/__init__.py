"""What a text means: may the answer to one question serve another? Pure: stdlib, orjson, numpy."""
